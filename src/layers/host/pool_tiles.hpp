// SPDX-License-Identifier: Apache-2.0
// Windows of a pool after a ReLU in registers, the lanes of a Register or of a Vector. Beside the
// result they say which pixels the gradient reaches, a bit per sample: those whose derivative is
// not 0, and of a maximum the first one (or the last NaN).
//
// The bits are those of host/avg_pool2d.cpp and host/max_pool2d.cpp: no product here may feed a
// sum, which a compiler could fuse. (A maximum's gradient of -0 stays -0; sums from +0 on do not
// see it.)
#pragma once

#include <cstdint>

#include "linalg/host/simd.hpp"

namespace quern::simd {

/// A window's pixels, Size x Size of them, row by row.
template <int Size>
[[gnu::always_inline]] inline void load_window(const float* pixels, std::int64_t row,
                                               Vector* window) {
  for (int k = 0; k < Size * Size; ++k)
    window[k] = load(pixels + k / Size * row + kWidth * (k % Size));
}

/// `factor` times the sum of the ReLU of a window's values. Overwrites passes[Size * Size].
template <int Size, class V>
[[gnu::always_inline]] inline V mean_of_window(const V* window, float factor, unsigned* passes) {
  V sum{};
  QUERN_UNROLL
  for (int k = 0; k < Size * Size; ++k) sum += relu(window[k], passes[k]);
  return sum * broadcast<V>(factor);
}

/// The maximum of a window, otherwise the same: its ReLU is that of the largest value.
template <int Size, class V>
[[gnu::always_inline]] inline V maximum_of_window(const V* window, unsigned* passes) {
  V best = window[0];
  passes[0] = ~0u;
  QUERN_UNROLL
  for (int k = 1; k < Size * Size; ++k) {
    const unsigned better = lanes_that_replace(window[k], best);
    for (int before = 0; before < k; ++before) passes[before] &= ~better;
    passes[k] = better;
    best = select_lanes(better, window[k], best);
  }
  unsigned active;
  best = relu(best, active);
  for (int k = 0; k < Size * Size; ++k) passes[k] &= active;
  return best;
}

/// Passes of a window to the places of its pixels. lane: of the register that they are of, the
/// lanes before it have been stored.
template <int Size>
[[gnu::always_inline]] inline void store_passes(const unsigned* passes, std::uint16_t* to,
                                                std::int64_t row, int lane = 0) {
  for (int k = 0; k < Size * Size; ++k) {
    std::uint16_t& place = to[k / Size * row + k % Size];
    const unsigned before = lane == 0 ? 0u : place;
    place = static_cast<std::uint16_t>(before | passes[k] << lane);
  }
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
