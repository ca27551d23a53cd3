// SPDX-License-Identifier: Apache-2.0
#include "layers/conv2d_kernels.hpp"

#include "layers/conv2d_pool_kernels.hpp"

namespace quern {

const Conv2dKernels& conv2d_kernels(const KernelChoice& choice) {
  return choose_kernels<const Conv2dKernels&()>(
      {.host = host_set<host::conv2d_kernels>(),
       .host_bf16 = host_set<host::conv2d_bf16_kernels>(),
       .host_bf16_pairs = host_set<host::conv2d_bf16_pairs_kernels>(),
       .device = device::conv2d_kernels,
       .device_tf32 = device::conv2d_tf32_kernels,
       .device_bf16 = device::conv2d_bf16_kernels,
       .host_winograd = host_set<host::conv2d_winograd_kernels>()},
      choice)();
}

const Conv2dPoolKernels* conv2d_pool_kernels(const KernelChoice& choice) {
  const auto set = choose_kernels<const Conv2dPoolKernels&()>(
      {.host = host_set<host::conv2d_pool_kernels>(),
       .host_bf16 = host_set<host::conv2d_bf16_pool_kernels>(),
       .host_bf16_pairs = host_set<host::conv2d_bf16_pairs_pool_kernels>()},
      choice);
  return set ? &set() : nullptr;
}

}  // namespace quern
