// SPDX-License-Identifier: Apache-2.0
#include "tensor/memory.hpp"

#include <Kokkos_Core.hpp>
#include <cstddef>

namespace quern {

#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP)

std::optional<std::int64_t> available_device_memory() {
  std::size_t free = 0;
  std::size_t total = 0;
#if defined(KOKKOS_ENABLE_CUDA)
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) return {};
#else
  if (hipMemGetInfo(&free, &total) != hipSuccess) return {};
#endif
  return static_cast<std::int64_t>(free);
}

#else

std::optional<std::int64_t> available_device_memory() {
  return {};
}

#endif

}  // namespace quern
