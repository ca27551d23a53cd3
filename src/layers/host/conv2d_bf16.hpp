// SPDX-License-Identifier: Apache-2.0
// The kernels of a convolution whose operands are rounded to bfloat16, on the tiles of a CPU
// (linalg/host/bf16_tiles.hpp). Reference: layers/reference/conv2d.hpp on rounded operands.
#pragma once

#include "layers/conv2d_kernels.hpp"
#include "layers/conv2d_pool_kernels.hpp"

namespace quern::host {

/// As the others of a CPU they add the border of zeros by themselves. Sums, biases and everything
/// that is in memory outside of a work item are floats.
const Conv2dKernels& conv2d_bf16_kernels();

/// For weights that those have packed.
const Conv2dPoolKernels& conv2d_bf16_pool_kernels();

}  // namespace quern::host
