// SPDX-License-Identifier: Apache-2.0
// Windows of a pool in registers, 16 samples at a time, on the output of a ReLU. Beside the result
// they say which pixels the gradient reaches, a bit per sample: those whose derivative is not 0,
// and of a maximum the first one (or the last NaN).
//
// The bits are those of host/avg_pool2d.cpp and host/max_pool2d.cpp: no product here may feed a
// sum, which a compiler could fuse. (A maximum's gradient of -0 stays -0; sums from +0 on do not
// see it.)
#pragma once

#include <cstdint>

#include "linalg/host/simd.hpp"

namespace quern::simd {

/// y = factor times the sum of the Size x Size pixels from `pixels` on, rows `row` floats apart.
/// Overwrites y and passes[kh * pass_row + kw].
template <int Size>
inline void mean_of_window(const float* pixels, std::int64_t row, float factor, float* y,
                           std::uint16_t* passes, std::int64_t pass_row) {
  Vector sum{};
  for (int kh = 0; kh < Size; ++kh) {
    for (int kw = 0; kw < Size; ++kw) {
      const Vector pixel = load(pixels + kh * row + kWidth * kw);
      sum += pixel;
      passes[kh * pass_row + kw] = static_cast<std::uint16_t>(active_lanes(pixel));
    }
  }
  store(y, sum * broadcast(factor));
}

/// y = maximum, otherwise the same.
template <int Size>
inline void maximum_of_window(const float* pixels, std::int64_t row, float* y,
                              std::uint16_t* passes, std::int64_t pass_row) {
  constexpr unsigned kAll = 0xffff;
  unsigned winners[Size * Size];
  Vector best = load(pixels);
  for (int k = 0; k < Size * Size; ++k) {
    const Vector pixel = load(pixels + k / Size * row + kWidth * (k % Size));
    const unsigned better = k == 0 ? kAll : lanes_that_replace(pixel, best);
    for (int before = 0; before < k; ++before) winners[before] &= ~better;
    winners[k] = better;
    best = select_lanes(better, pixel, best);
  }
  const unsigned active = active_lanes(best);
  for (int k = 0; k < Size * Size; ++k) {
    passes[k / Size * pass_row + k % Size] = static_cast<std::uint16_t>(winners[k] & active);
  }
  store(y, best);
}

/// The gradients of the pixels: `share` where the bit is set, else 0. Overwrites.
template <int Size>
inline void spread_over_window(Vector share, const std::uint16_t* passes, std::int64_t pass_row,
                               float* pixels, std::int64_t row) {
  for (int kh = 0; kh < Size; ++kh) {
    for (int kw = 0; kw < Size; ++kw) {
      store(pixels + kh * row + kWidth * kw,
            select_lanes(passes[kh * pass_row + kw], share, Vector{}));
    }
  }
}

}  // namespace quern::simd
