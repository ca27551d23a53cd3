// SPDX-License-Identifier: Apache-2.0
// Convolutions by Winograd's algorithm (winograd_transforms.hpp), for those that it makes faster.
// The others, and all else that the set of kernels has, are those of the direct convolution.
// Reference: layers/reference/conv2d_winograd.hpp.
#pragma once

#include "layers/conv2d_kernels.hpp"

namespace quern::host {

/// Kernels of 3 x 3 pixels with stride 1 on at least 16 channels, and to as many: with fewer,
/// transforming takes longer than it saves. A function of the layer alone, so the bits do not
/// depend on the batch.
bool suits_winograd(const ConvShape& shape);

/// Has a block enough tiles for its weight gradient? Lanes are added once for them all.
bool suits_winograd_gradient(const ConvShape& shape, int block_rows);

/// Conv2dKernels::weight_gradient of a shape that suits.
void conv2d_winograd_weight_gradient(const ExecSpace& exec, const ConvShape& shape,
                                     const BlockSchedule& schedule, const float* x, const float* dy,
                                     const GradientSums& partial_sums, std::int64_t offset);

/// Floats that it needs of scratch(), at most.
std::int64_t conv2d_winograd_gradient_scratch(int threads, const ConvShape& shape,
                                              const BatchLimit& most);

}  // namespace quern::host
