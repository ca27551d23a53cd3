// SPDX-License-Identifier: Apache-2.0
#include "device/inventory.hpp"

#include <cstddef>
#include <span>

#include "device/driver.hpp"

namespace quern {

#if defined(QUERN_DRIVER)

namespace {

std::string id_of(std::span<const char> uuid) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string id = "GPU-";
  for (const char byte : uuid) {
    id += kDigits[(static_cast<unsigned char>(byte) >> 4) & 15];
    id += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return id;
}

}  // namespace

DeviceInfo device_of_this_rank() {
#if defined(KOKKOS_ENABLE_CUDA)
  const cudaDeviceProp& device = Kokkos::Cuda().cuda_device_prop();
  return {device.name, id_of(device.uuid.bytes)};
#else
  const hipDeviceProp_t& device = Kokkos::HIP().hip_device_prop();
  hipUUID uuid{};
  if (hipDeviceGetUuid(&uuid, Kokkos::HIP().hip_device()) != hipSuccess) return {device.name, ""};
  return {device.name, id_of(uuid.bytes)};
#endif
}

DeviceCount count_devices() {
  int count = 0;
  const auto code = QUERN_DRIVER(GetDeviceCount)(&count);
  if (code != QUERN_DRIVER(Success)) return {0, QUERN_DRIVER(GetErrorString)(code)};
  return {count, count == 0 ? "the driver offers none" : ""};
}

std::optional<std::int64_t> available_device_memory() {
  std::size_t free = 0;
  std::size_t total = 0;
  if (QUERN_DRIVER(MemGetInfo)(&free, &total) != QUERN_DRIVER(Success)) return {};
  return static_cast<std::int64_t>(free);
}

#else

DeviceInfo device_of_this_rank() {
  return {ExecSpace::name(), ""};
}

DeviceCount count_devices() {
  return {};
}

std::optional<std::int64_t> available_device_memory() {
  return {};
}

#endif

}  // namespace quern
