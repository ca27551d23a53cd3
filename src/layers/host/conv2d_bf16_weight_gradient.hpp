// SPDX-License-Identifier: Apache-2.0
// Weight gradient of layers/conv2d_kernels.hpp on tiles of bfloat16, in both orders
// (linalg/host/bf16_tiles.hpp). What the functions do stands there.
#pragma once

#include "layers/conv_shape.hpp"
#include "linalg/block_schedule.hpp"

namespace quern::host {

void conv2d_bf16_weight_gradient(const ExecSpace& exec, const ConvShape& shape,
                                 const BlockSchedule& schedule, const float* x, const float* dy,
                                 const GradientSums& partial_sums, std::int64_t offset,
                                 const FloatView& workspace);

void conv2d_bf16_pairs_weight_gradient(const ExecSpace& exec, const ConvShape& shape,
                                       const BlockSchedule& schedule, const float* x,
                                       const float* dy, const GradientSums& partial_sums,
                                       std::int64_t offset, const FloatView& workspace);

/// Floats of scratch() that they need; `shape` as_product().
std::int64_t conv2d_bf16_weight_gradient_scratch(int threads, const ConvShape& shape,
                                                 const BatchLimit& most);

}  // namespace quern::host
