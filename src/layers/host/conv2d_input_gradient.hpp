// SPDX-License-Identifier: Apache-2.0
// The parts of Conv2dKernels (layers/conv2d_kernels.hpp) for dx. A file of their own, because their
// tiles take a compiler as long as all others together.
#pragma once

#include <algorithm>

#include "base/ceil_div.hpp"
#include "layers/conv_shape.hpp"

namespace quern::host {

/// Outputs [first, end) that meet `count` inputs from `begin` (of an image without border) on,
/// along one side of the image.
struct Met {
  int first;
  int end;

  int count() const { return end - first; }
};

inline Met outputs_of(const ConvShape& s, int begin, int count, int outputs) {
  const int low = begin + s.padding - (s.kernel - 1);
  const int first = low > 0 ? ceil_div(low, s.stride) : 0;
  const int end = std::min(outputs, (begin + count - 1 + s.padding) / s.stride + 1);
  return {first, std::max(first, end)};
}

std::int64_t conv2d_gradient_floats(const ConvShape& shape);

void conv2d_pack_gradient(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                          float* packed);

void conv2d_input_gradient(const ExecSpace& exec, const ConvShape& shape, int batch_rows,
                           const float* dy, const float* weights, const float* x_mask, float* dx);

/// Floats of scratch() that it needs; `shape` as_product().
std::int64_t conv2d_input_gradient_scratch(int threads, const ConvShape& shape, int batch_rows);

}  // namespace quern::host
