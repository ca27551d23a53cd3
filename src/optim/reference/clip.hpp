// SPDX-License-Identifier: Apache-2.0
// Reference implementation of optim/clip.hpp, and the definition of its order of additions.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>

namespace quern::reference {

/// Chunks of 4096 floats; inside a chunk 16 running sums of every 16th square, added as a tree;
/// then the chunks from left to right.
inline double sum_of_squares(std::span<const float> values) {
  double total = 0;
  for (std::size_t begin = 0; begin < values.size(); begin += 4096) {
    std::array<double, 16> lane{};
    for (std::size_t i = begin; i < std::min(begin + 4096, values.size()); ++i)
      lane[i % 16] += double{values[i]} * double{values[i]};
    for (std::size_t width = 8; width > 0; width /= 2)
      for (std::size_t l = 0; l < width; ++l) lane[l] += lane[l + width];
    total += lane[0];
  }
  return total;
}

inline float gradient_scale(double max_norm, std::span<const float> gradient) {
  const double factor = max_norm / (std::sqrt(sum_of_squares(gradient)) + 1e-6);
  return static_cast<float>(std::min(1.0, factor));
}

}  // namespace quern::reference
