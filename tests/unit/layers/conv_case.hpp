// SPDX-License-Identifier: Apache-2.0
// Convolutions for tests of kernels, and what a kernel writes.
#pragma once

#include <ostream>
#include <vector>

#include "layers/conv_shape.hpp"
#include "support/activation_io.hpp"

namespace quern::test {

struct ConvCase {
  int channels, height, width, out, kernel, stride, padding;

  /// With the border, ConvShape::padding wide.
  ConvShape shape() const {
    const int padded_height = height + 2 * padding;
    const int padded_width = width + 2 * padding;
    return {channels,
            padded_height,
            padded_width,
            out,
            (padded_height - kernel) / stride + 1,
            (padded_width - kernel) / stride + 1,
            kernel,
            stride,
            padding};
  }

  friend std::ostream& operator<<(std::ostream& stream, const ConvCase& c) {
    return stream << c.channels << " x " << c.height << " x " << c.width << ", " << c.out
                  << " channels, kernel " << c.kernel << ", stride " << c.stride << ", padding "
                  << c.padding;
  }
};

/// Odd sizes, for kernels whatever their lanes hold.
inline const std::vector<ConvCase>& odd_convolutions() {
  static const std::vector<ConvCase> kCases = {
      {1, 1, 1, 1, 3, 1, 1},   {5, 7, 9, 11, 3, 1, 1},   {3, 17, 19, 9, 7, 2, 3},
      {2, 4, 5, 3, 4, 3, 2},   {7, 5, 6, 3, 5, 1, 4},    {3, 5, 5, 4, 1, 2, 1},
      {70, 3, 5, 41, 3, 1, 1}, {300, 3, 41, 5, 3, 1, 1},
  };
  return kCases;
}

/// The floats that kernel(out) leaves in an array that it finds full of sevens.
template <class Kernel>
std::vector<float> written(std::int64_t size, const Kernel& kernel) {
  const FloatView out = make_view(std::vector<float>(static_cast<std::size_t>(size), 7.0f));
  kernel(out.data());
  return read(out, 0, static_cast<std::size_t>(size));
}

}  // namespace quern::test
