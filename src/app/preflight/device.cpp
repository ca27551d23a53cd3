// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/device.hpp"

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <span>

#include "optim/optimizer.hpp"
#include "tensor/types.hpp"
#include "train/model.hpp"

namespace quern {

DeviceFacts device_of_this_rank() {
#if defined(KOKKOS_ENABLE_CUDA)
  const cudaDeviceProp& device = Kokkos::Cuda().cuda_device_prop();
  constexpr char kDigits[] = "0123456789abcdef";
  std::string id = "GPU-";
  for (const char byte : device.uuid.bytes) {
    id += kDigits[(static_cast<unsigned char>(byte) >> 4) & 15];
    id += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return {device.name, id};
#else
  return {ExecSpace::name(), ""};
#endif
}

std::int64_t checkpoint_bytes(const Recipe& recipe) {
  const Model model(recipe);
  const std::int64_t arrays = 1 + num_state_arrays(recipe.optimizer);
  const std::int64_t parameters = model.network().table().num_parameters();
  return parameters * arrays * std::int64_t{sizeof(float)} + (std::int64_t{1} << 16);
}

}  // namespace quern
