// SPDX-License-Identifier: Apache-2.0
// Convolution of the lane groups that hold few samples, with channels in the lanes instead. For
// every element the fused multiply-adds come in the order of the kernels for full groups, with the
// same bits.
#pragma once

#include "layers/conv2d_kernels.hpp"

namespace quern::host {

std::int64_t few_forward_floats(const ConvShape& shape);
void few_pack_forward(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                      float* packed);
void few_forward(const ExecSpace& exec, const ConvShape& shape, const FewRows& few, const float* x,
                 const float* weights, const float* bias, bool with_relu, float* y);

std::int64_t few_gradient_floats(const ConvShape& shape);
void few_pack_gradient(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                       float* packed);
void few_input_gradient(const ExecSpace& exec, const ConvShape& shape, const FewRows& few,
                        const float* dy, const float* weights, const float* x_mask, float* dx);

/// Whether the weight gradient with channels in the lanes is faster. It computes all blocks of a
/// rank, full ones little slower than the other, and wants blocks of one group.
bool has_few_samples(const ConvShape& shape, const BlockSchedule& schedule);
void conv2d_few_weight_gradient(const ExecSpace& exec, const ConvShape& shape,
                                const BlockSchedule& schedule, const float* x, const float* dy,
                                const GradientSums& partial_sums, std::int64_t offset);

// Floats of scratch() that they need; `shape` as_product().
std::int64_t few_forward_scratch(int threads, const ConvShape& shape, int groups, int most_samples);
std::int64_t few_input_gradient_scratch(int threads, const ConvShape& shape, int groups,
                                        int most_samples);
std::int64_t conv2d_few_weight_gradient_scratch(int threads, const ConvShape& shape, int depth);
/// Of all of them, as far as they are used.
std::int64_t conv2d_few_rows_scratch(int threads, const ConvShape& shape, const BatchLimit& most);

const Conv2dFewRowsKernels& conv2d_few_rows_kernels();

}  // namespace quern::host
