// SPDX-License-Identifier: Apache-2.0
// Reference implementations of layers/avg_pool2d.hpp and max_pool2d.hpp, for one sample [C, H, W].
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/shape.hpp"

namespace quern::reference {

inline std::size_t unit_of(const Shape& shape, int c, int h, int w) {
  return static_cast<std::size_t>((c * shape.height + h) * shape.width + w);
}

inline Shape pooled(const Shape& in, int size, int stride) {
  return {in.channels, (in.height - size) / stride + 1, (in.width - size) / stride + 1};
}

/// Calls visit(output unit, input units of its window in scan order) for every output.
template <class Visit>
void for_each_window(const Shape& in, int size, int stride, Visit&& visit) {
  const Shape out = pooled(in, size, stride);
  for (int c = 0; c < out.channels; ++c)
    for (int oh = 0; oh < out.height; ++oh)
      for (int ow = 0; ow < out.width; ++ow) {
        std::vector<std::size_t> window;
        for (int kh = 0; kh < size; ++kh)
          for (int kw = 0; kw < size; ++kw)
            window.push_back(unit_of(in, c, oh * stride + kh, ow * stride + kw));
        visit(unit_of(out, c, oh, ow), std::as_const(window));
      }
}

template <class T>
std::vector<T> avg_pool2d(const Shape& in, int size, int stride, const std::vector<T>& x) {
  std::vector<T> y(static_cast<std::size_t>(pooled(in, size, stride).units()));
  for_each_window(in, size, stride, [&](std::size_t out, const std::vector<std::size_t>& window) {
    T sum = 0;
    for (const std::size_t unit : window) sum += x[unit];
    y[out] = sum / static_cast<T>(size * size);
  });
  return y;
}

template <class T>
std::vector<T> avg_pool2d_backward(const Shape& in, int size, int stride,
                                   const std::vector<T>& dy) {
  std::vector<T> dx(static_cast<std::size_t>(in.units()));
  for_each_window(in, size, stride, [&](std::size_t out, const std::vector<std::size_t>& window) {
    for (const std::size_t unit : window) dx[unit] += dy[out] / static_cast<T>(size * size);
  });
  return dx;
}

/// The unit of the window that wins: the first maximum, or the last NaN.
template <class T>
std::size_t winner(const std::vector<T>& x, const std::vector<std::size_t>& window) {
  std::size_t best = window.front();
  for (const std::size_t unit : window)
    if (x[unit] > x[best] || std::isnan(x[unit])) best = unit;
  return best;
}

template <class T>
std::vector<T> max_pool2d(const Shape& in, int size, int stride, const std::vector<T>& x) {
  std::vector<T> y(static_cast<std::size_t>(pooled(in, size, stride).units()));
  for_each_window(in, size, stride, [&](std::size_t out, const std::vector<std::size_t>& window) {
    y[out] = x[winner(x, window)];
  });
  return y;
}

template <class T>
std::vector<T> max_pool2d_backward(const Shape& in, int size, int stride, const std::vector<T>& x,
                                   const std::vector<T>& dy) {
  std::vector<T> dx(static_cast<std::size_t>(in.units()));
  for_each_window(in, size, stride, [&](std::size_t out, const std::vector<std::size_t>& window) {
    dx[winner(x, window)] += dy[out];
  });
  return dx;
}

}  // namespace quern::reference
