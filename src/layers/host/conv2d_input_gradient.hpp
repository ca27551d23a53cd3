// SPDX-License-Identifier: Apache-2.0
// The parts of Conv2dKernels (layers/conv2d_kernels.hpp) for dx. A file of their own, because their
// tiles take a compiler as long as all others together.
#pragma once

#include "layers/conv_shape.hpp"

namespace quern::host {

std::int64_t conv2d_gradient_floats(const ConvShape& shape);

void conv2d_pack_gradient(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                          float* packed);

void conv2d_input_gradient(const ExecSpace& exec, const ConvShape& shape, int batch_rows,
                           const float* dy, const float* weights, const float* x_mask, float* dx);

}  // namespace quern::host
