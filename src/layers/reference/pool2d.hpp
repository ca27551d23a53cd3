// SPDX-License-Identifier: Apache-2.0
// Reference implementations of layers/pool2d.hpp and global_avg_pool.hpp, for one sample
// [C, H, W].
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

struct PoolGeometry {
  int size;
  int stride;
  int padding = 0;
};

inline Shape pooled(const Shape& in, const PoolGeometry& pool) {
  const int border = 2 * pool.padding - pool.size;
  return {in.channels, (in.height + border) / pool.stride + 1,
          (in.width + border) / pool.stride + 1};
}

/// Calls visit(output unit, input units of its window in scan order, without padding) for every
/// output.
template <class Visit>
void for_each_window(const Shape& in, const PoolGeometry& pool, Visit&& visit) {
  const Shape out = pooled(in, pool);
  for (int c = 0; c < out.channels; ++c)
    for (int oh = 0; oh < out.height; ++oh)
      for (int ow = 0; ow < out.width; ++ow) {
        std::vector<std::size_t> window;
        for (int kh = 0; kh < pool.size; ++kh)
          for (int kw = 0; kw < pool.size; ++kw) {
            const int h = oh * pool.stride + kh - pool.padding;
            const int w = ow * pool.stride + kw - pool.padding;
            if (h >= 0 && h < in.height && w >= 0 && w < in.width)
              window.push_back(unit_of(in, c, h, w));
          }
        visit(unit_of(out, c, oh, ow), std::as_const(window));
      }
}

template <class T>
std::vector<T> avg_pool2d(const Shape& in, const PoolGeometry& pool, const std::vector<T>& x) {
  std::vector<T> y(static_cast<std::size_t>(pooled(in, pool).units()));
  for_each_window(in, pool, [&](std::size_t out, const std::vector<std::size_t>& window) {
    T sum = 0;
    for (const std::size_t unit : window) sum += x[unit];
    y[out] = sum / static_cast<T>(pool.size * pool.size);
  });
  return y;
}

template <class T>
std::vector<T> avg_pool2d_backward(const Shape& in, const PoolGeometry& pool,
                                   const std::vector<T>& dy) {
  std::vector<T> dx(static_cast<std::size_t>(in.units()));
  for_each_window(in, pool, [&](std::size_t out, const std::vector<std::size_t>& window) {
    for (const std::size_t unit : window)
      dx[unit] += dy[out] / static_cast<T>(pool.size * pool.size);
  });
  return dx;
}

template <class T>
std::vector<T> global_avg_pool(const Shape& in, const std::vector<T>& x) {
  std::vector<T> y(static_cast<std::size_t>(in.channels));
  const auto pixels = static_cast<std::size_t>(in.height * in.width);
  for (std::size_t unit = 0; unit < x.size(); ++unit)
    y[unit / pixels] += x[unit] / static_cast<T>(pixels);
  return y;
}

template <class T>
std::vector<T> global_avg_pool_backward(const Shape& in, const std::vector<T>& dy) {
  std::vector<T> dx(static_cast<std::size_t>(in.units()));
  const auto pixels = static_cast<std::size_t>(in.height * in.width);
  for (std::size_t unit = 0; unit < dx.size(); ++unit)
    dx[unit] = dy[unit / pixels] / static_cast<T>(pixels);
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
std::vector<T> max_pool2d(const Shape& in, const PoolGeometry& pool, const std::vector<T>& x) {
  std::vector<T> y(static_cast<std::size_t>(pooled(in, pool).units()));
  for_each_window(in, pool, [&](std::size_t out, const std::vector<std::size_t>& window) {
    y[out] = x[winner(x, window)];
  });
  return y;
}

template <class T>
std::vector<T> max_pool2d_backward(const Shape& in, const PoolGeometry& pool,
                                   const std::vector<T>& x, const std::vector<T>& dy) {
  std::vector<T> dx(static_cast<std::size_t>(in.units()));
  for_each_window(in, pool, [&](std::size_t out, const std::vector<std::size_t>& window) {
    dx[winner(x, window)] += dy[out];
  });
  return dx;
}

}  // namespace quern::reference
