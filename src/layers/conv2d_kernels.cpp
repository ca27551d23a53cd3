// SPDX-License-Identifier: Apache-2.0
#include "layers/conv2d_kernels.hpp"

#include "layers/conv2d_pool_kernels.hpp"
#include "layers/host/conv2d_bf16.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

const Conv2dKernels& conv2d_kernels(OperandPrecision precision) {
  if constexpr (kHostExecution) {
    if (!runs_device_kernels()) {
      return precision == OperandPrecision::bf16 ? host::conv2d_bf16_kernels()
                                                 : host::conv2d_kernels();
    }
  }
  return device::conv2d_kernels(precision);
}

const Conv2dPoolKernels* conv2d_pool_kernels(OperandPrecision precision) {
  if constexpr (kHostExecution) {
    if (!runs_device_kernels()) {
      return precision == OperandPrecision::bf16 ? &host::conv2d_bf16_pool_kernels()
                                                 : &host::conv2d_pool_kernels();
    }
  }
  return nullptr;
}

}  // namespace quern
