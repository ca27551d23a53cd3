// SPDX-License-Identifier: Apache-2.0
// Reference implementation of layers/upsample.hpp, for one sample [C, H, W].
#pragma once

#include <cstddef>
#include <vector>

#include "base/shape.hpp"

namespace quern::reference {

/// Calls visit(unit of x, unit of y) for every unit of y, in order.
template <class Visit>
void for_each_upsampled_unit(const Shape& in, int factor, Visit&& visit) {
  std::size_t out = 0;
  for (int c = 0; c < in.channels; ++c)
    for (int h = 0; h < in.height * factor; ++h)
      for (int w = 0; w < in.width * factor; ++w) {
        const int from = (c * in.height + h / factor) * in.width + w / factor;
        visit(static_cast<std::size_t>(from), out++);
      }
}

template <class T>
std::vector<T> upsample(const Shape& in, int factor, const std::vector<T>& x) {
  std::vector<T> y(x.size() * static_cast<std::size_t>(factor * factor));
  for_each_upsampled_unit(in, factor, [&](std::size_t from, std::size_t to) { y[to] = x[from]; });
  return y;
}

template <class T>
std::vector<T> upsample_backward(const Shape& in, int factor, const std::vector<T>& dy) {
  std::vector<T> dx(static_cast<std::size_t>(in.units()));
  for_each_upsampled_unit(in, factor,
                          [&](std::size_t from, std::size_t to) { dx[from] += dy[to]; });
  return dx;
}

}  // namespace quern::reference
