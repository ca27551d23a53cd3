// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices.hpp"

#include <Kokkos_Core.hpp>
#include <cstdlib>
#include <span>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "comm/nccl_support.hpp"
#include "parallel/host_staged_transport.hpp"
#include "runtime/device_choice.hpp"
#include "tensor/types.hpp"

namespace quern {

namespace {

#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP)

std::string id_of(std::span<const char> uuid) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string id = "GPU-";
  for (const char byte : uuid) {
    id += kDigits[(static_cast<unsigned char>(byte) >> 4) & 15];
    id += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return id;
}

// The number of devices, and what is wrong when there is none.
std::pair<int, std::string> count_devices() {
  int count = 0;
#if defined(KOKKOS_ENABLE_CUDA)
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess) return {0, cudaGetErrorString(code)};
#else
  const hipError_t code = hipGetDeviceCount(&count);
  if (code != hipSuccess) return {0, hipGetErrorString(code)};
#endif
  return {count, count == 0 ? "the driver offers none" : ""};
}

#else

std::pair<int, std::string> count_devices() {
  return {0, ""};
}

#endif

}  // namespace

DeviceFacts device_of_this_rank() {
#if defined(KOKKOS_ENABLE_CUDA)
  const cudaDeviceProp& device = Kokkos::Cuda().cuda_device_prop();
  return {device.name, id_of(device.uuid.bytes)};
#elif defined(KOKKOS_ENABLE_HIP)
  const hipDeviceProp_t& device = Kokkos::HIP().hip_device_prop();
  hipUUID uuid{};
  if (hipDeviceGetUuid(&uuid, Kokkos::HIP().hip_device()) != hipSuccess) return {device.name, ""};
  return {device.name, id_of(uuid.bytes)};
#else
  return {ExecSpace::name(), ""};
#endif
}

int visible_devices() {
  const auto [count, problem] = count_devices();
  if (problem.empty()) return count;
  throw InputError("this quern runs its kernels on GPUs (" + std::string(ExecSpace::name()) +
                   "), and finds none: " + problem +
                   " (expected a node with a GPU and its driver, or a quern built for processors)");
}

std::string visible_devices_text() {
  if (kHostExecution) return "";
  const auto [count, problem] = count_devices();
  return problem.empty() ? std::to_string(count) : "none: " + problem;
}

bool may_share_devices() {
  const char* wish = std::getenv("QUERN_SHARE_GPU");
  return wish && std::string(wish) == "1";
}

std::unique_ptr<DeviceTransport> connect_devices(Communicator& comm, CommBackend backend) {
  TransportFacts facts;
  facts.wanted = backend;
  facts.ranks = comm.size();
  facts.on_devices = !kHostExecution;
  facts.has_nccl = built_with_nccl();
  facts.device_ids = all_gather_strings(comm, device_of_this_rank().id);
  facts.may_share = broadcast_value(comm, may_share_devices());
  switch (agree(comm, [&] { return choose_transport(facts); })) {
    case TransportKind::nccl:
      return connect_by_nccl(comm);
    case TransportKind::staged:
      return std::make_unique<HostStagedTransport>(comm);
    case TransportKind::hosts:
      break;
  }
  return nullptr;
}

}  // namespace quern
