// SPDX-License-Identifier: Apache-2.0
// Many operations have two sets of kernels: host/ for CPUs, vectorised, and device/ for devices,
// one element or micro-tile a thread. Both give the same bits.
#pragma once

#include "tensor/types.hpp"

namespace quern {

#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP) || defined(KOKKOS_ENABLE_SYCL)
/// Do the kernels of device/ run? On a device always; host/ is not part of such a build:
///   if (runs_device_kernels()) { ... } else if constexpr (kHostExecution) { ... }
constexpr bool runs_device_kernels() {
  return true;
}
#else
/// Do the kernels of device/ run? On a CPU, where they are slow, only if the environment says
/// QUERN_DEVICE_KERNELS=1 or a test asks for it.
bool runs_device_kernels();

/// For tests: from now on. Layers must be made anew, because their workspace differs.
void choose_device_kernels(bool device);
#endif

/// How many threads run kernels; 1 as long as Kokkos is not initialised, as where a plan is made
/// that nothing is run by.
inline int kernel_threads() {
  return Kokkos::is_initialized() ? ExecSpace().concurrency() : 1;
}

}  // namespace quern
