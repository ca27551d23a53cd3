// SPDX-License-Identifier: Apache-2.0
// Parts of Conv2dPoolKernels (layers/conv2d_pool_kernels.hpp).
#pragma once

#include "layers/conv2d_pool_kernels.hpp"
#include "layers/host/conv2d_loops.hpp"

namespace quern::host {

// Limits of the gradients, whose sums lie on the stack, 113 KB at most: for each kernel row and
// input channel a BlockStack of up to 4 KB, and the lanes of a block, up to 1.6 KB.
inline constexpr int kMostPoolKernel = kTapColumns;
inline constexpr int kMostPoolChannels = 4;

/// Conv2dPoolKernels::scratch_floats.
std::int64_t conv2d_pool_gradients_scratch(int threads, const ConvShape& shape, const Pool& pool,
                                           const BatchLimit& most);

/// Conv2dPoolKernels::gradients.
void conv2d_pool_gradients(const ExecSpace& exec, const ConvShape& shape, const Pool& pool,
                           const BlockSchedule& schedule, const float* x,
                           const std::uint16_t* passes, const float* dy,
                           const GradientSums& partial_sums, std::int64_t weight_offset,
                           std::int64_t bias_offset);

}  // namespace quern::host
