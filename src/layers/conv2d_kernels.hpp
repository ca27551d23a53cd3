// SPDX-License-Identifier: Apache-2.0
// Direct convolution on activations in Layout::lanes. Twins: layers/reference/conv2d.hpp.
// x is already padded: in_height and in_width of the shape include the padding.
//
// host/ has the kernels of the CPU back ends, device/ those of the others, with the same order of
// fused multiply-adds for every element.
#pragma once

#include "layers/conv_shape.hpp"
#include "linalg/block_schedule.hpp"

namespace quern {

/// Weights [O, C, K, K] in the order in which the tiles of conv2d_forward read them:
/// packed_forward_floats() floats, from a 16 byte boundary on. Overwrites `packed`.
std::int64_t packed_forward_floats(const ConvShape& shape);
void pack_forward_weights(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                          float* packed);

/// The same for conv2d_input_gradient.
std::int64_t packed_gradient_floats(const ConvShape& shape);
void pack_gradient_weights(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                           float* packed);

/// y = W * x + b, then max(y, 0) if `with_relu`. Overwrites y. x [S, C, H, W], packed weights,
/// bias [O], y [S, O, H_out, W_out]. 2 S O H_out W_out C K K flop.
void conv2d_forward(const ExecSpace& exec, const ConvShape& shape, int slots, const float* x,
                    const float* weights, const float* bias, bool with_relu, float* y);

/// dx = sum over outputs of W dy. Overwrites dx. With x_gate [S, C, H, W], the output of a ReLU, dx
/// becomes 0 where it is not above 0.
void conv2d_input_gradient(const ExecSpace& exec, const ConvShape& shape, int slots,
                           const float* dy, const float* weights, const float* x_gate, float* dx);

/// Weight gradient of this rank's blocks by the block tree: partial p at
/// partials.data[p * stride + offset], PyTorch's order. Overwrites.
void conv2d_weight_gradient(const ExecSpace& exec, const ConvShape& shape,
                            const BlockSchedule& schedule, const float* x, const float* dy,
                            const GradientPartials& partials, std::int64_t offset);

/// Bias gradient: sum of dy over samples and pixels, by the block tree. Overwrites.
void conv2d_bias_gradient(const ExecSpace& exec, const ConvShape& shape,
                          const BlockSchedule& schedule, const float* dy,
                          const GradientPartials& partials, std::int64_t offset);

/// Copies x [S, C, H, W] into the middle of padded [S, C, H + 2 p, W + 2 p]; the border is left
/// alone (zero since allocation).
void pad_image(const ExecSpace& exec, std::int64_t planes, int height, int width, int padding,
               const float* x, float* padded);

/// The inverse: cuts the border off. Overwrites x.
void crop_image(const ExecSpace& exec, std::int64_t planes, int height, int width, int padding,
                const float* padded, float* x);

}  // namespace quern
