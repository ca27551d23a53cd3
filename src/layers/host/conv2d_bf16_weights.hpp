// SPDX-License-Identifier: Apache-2.0
// The weights of a convolution as operand A of its products (conv2d_bf16_products.hpp), packed once
// a step: the parts of Conv2dKernels (layers/conv2d_kernels.hpp) for it.
#pragma once

#include "layers/host/conv2d_bf16_products.hpp"

namespace quern::host {

std::int64_t conv2d_bf16_forward_floats(const ConvShape& shape);

/// For every 16 output channels the tiles of a ForwardKernel.
void conv2d_bf16_pack_forward(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                              float* packed);

/// In the input gradient, inputs a stride apart meet the same kernel pixels: along one side of the
/// image an input h (of an image without border) meets the pixels phase, phase + stride ... with
/// phase = (h + padding) % stride. So many they are, perhaps none.
inline int taps_of_phase(const ConvShape& s, int phase) {
  return phase < s.kernel ? (s.kernel - 1 - phase) / s.stride + 1 : 0;
}

/// The kernel of the inputs of a phase. It is turned: the last output meets the first pixel.
inline KernelTiles conv2d_bf16_gradient_kernel(const ConvShape& s, int row_phase,
                                               int column_phase) {
  return {taps_of_phase(s, row_phase), taps_of_phase(s, column_phase), s.out_channels};
}

/// bfloat16 of the packed weights of all phases before this one.
std::int64_t conv2d_bf16_weights_before(const ConvShape& s, int row_phase, int column_phase);

std::int64_t conv2d_bf16_gradient_floats(const ConvShape& shape);

/// Floats of scratch() that conv2d_bf16_pack_gradient() needs.
std::int64_t conv2d_bf16_pack_scratch(const ConvShape& shape);

/// For every phase, and in it for every 16 input channels, the tiles of its kernel.
void conv2d_bf16_pack_gradient(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                               float* packed);

}  // namespace quern::host
