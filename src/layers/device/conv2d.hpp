// SPDX-License-Identifier: Apache-2.0
// layers/conv2d_kernels.hpp on a device: one lane of a micro-tile per thread, the same bits as on a
// CPU. What the functions do stands there.
#pragma once

#include "layers/conv_shape.hpp"
#include "linalg/block_schedule.hpp"

namespace quern::device {

std::int64_t packed_forward_floats(const ConvShape& shape);
void pack_forward_weights(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                          float* packed);

std::int64_t packed_gradient_floats(const ConvShape& shape);
void pack_gradient_weights(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                           float* packed);

void conv2d_forward(const ExecSpace& exec, const ConvShape& shape, int slots, const float* x,
                    const float* weights, const float* bias, bool with_relu, float* y);

void conv2d_input_gradient(const ExecSpace& exec, const ConvShape& shape, int slots,
                           const float* dy, const float* weights, const float* x_gate, float* dx);

void conv2d_weight_gradient(const ExecSpace& exec, const ConvShape& shape,
                            const BlockSchedule& schedule, const float* x, const float* dy,
                            const GradientPartials& partials, std::int64_t offset);

void conv2d_bias_gradient(const ExecSpace& exec, const ConvShape& shape,
                          const BlockSchedule& schedule, const float* dy,
                          const GradientPartials& partials, std::int64_t offset);

void pad_image(const ExecSpace& exec, std::int64_t planes, int height, int width, int padding,
               const float* x, float* padded);

void crop_image(const ExecSpace& exec, std::int64_t planes, int height, int width, int padding,
                const float* padded, float* x);

}  // namespace quern::device
