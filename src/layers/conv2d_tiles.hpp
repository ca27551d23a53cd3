// SPDX-License-Identifier: Apache-2.0
// Register tiles of the direct convolution, vectorised over 16 samples (Layout::lanes): no
// im2col, no packing of images, no wasted lanes on odd widths or channel counts.
//
// Every output element is one chain of fused multiply-adds in a fixed order (forward: input
// channel, kernel row, kernel column; input gradient: output channel, kernel row, kernel column),
// whatever the tile, so tile sizes do not change bits.
#pragma once

#include <algorithm>
#include <cstdint>

#include "linalg/gemm_tile.hpp"

namespace quern::simd {

/// Sizes of a convolution without padding: padded inputs are padded by a copy beforehand.
struct ConvShape {
  int in_channels;
  int in_height;
  int in_width;
  int out_channels;
  int out_height;
  int out_width;
  int kernel;
  int stride;

  std::int64_t in_group() const { return std::int64_t{16} * in_channels * in_height * in_width; }
  std::int64_t out_group() const {
    return std::int64_t{16} * out_channels * out_height * out_width;
  }
  std::int64_t in(int c, int h, int w) const {
    return std::int64_t{16} * ((c * in_height + h) * in_width + w);
  }
  std::int64_t out(int c, int h, int w) const {
    return std::int64_t{16} * ((c * out_height + h) * out_width + w);
  }
  /// Position of W[o, i, kh, kw] in PyTorch's order.
  std::int64_t weight(int o, int i, int kh, int kw) const {
    return ((std::int64_t{o} * in_channels + i) * kernel + kh) * kernel + kw;
  }
  int taps() const { return in_channels * kernel * kernel; }
};

/// y[o .. o+C-1, oh, ow .. ow+T-1] of one group of 16 samples. Overwrites.
/// weight_t is W transposed, [taps, O padded]: the channels of a tap are contiguous.
template <int C, int T>
inline void conv_forward_tile(const ConvShape& s, const float* x, const float* weight_t,
                              std::int64_t weight_row, const float* bias, float* y, int o, int oh,
                              int ow) {
  Vector sum[C][T];
  for (int c = 0; c < C; ++c) {
    for (int t = 0; t < T; ++t) sum[c][t] = Vector{};
  }
  const float* w = weight_t + o;
  for (int i = 0; i < s.in_channels; ++i) {
    for (int kh = 0; kh < s.kernel; ++kh) {
      const float* x_row = x + s.in(i, oh * s.stride + kh, ow * s.stride);
      for (int kw = 0; kw < s.kernel; ++kw) {
        Vector x_t[T];
        for (int t = 0; t < T; ++t) x_t[t] = load(x_row + 16 * (t * s.stride + kw));
        for (int c = 0; c < C; ++c) {
          const Vector w_c = broadcast(w[c]);
          for (int t = 0; t < T; ++t) sum[c][t] += w_c * x_t[t];
        }
        w += weight_row;
      }
    }
  }
  for (int c = 0; c < C; ++c) {
    const Vector b = broadcast(bias[o + c]);
    for (int t = 0; t < T; ++t) store(y + s.out(o + c, oh, ow + t), sum[c][t] + b);
  }
}

/// dx[i .. i+C-1, ih, iw .. iw+T-1] of one group of 16 samples. Overwrites.
/// UnitStride: stride is 1, which spares the divisions.
template <int C, int T, bool UnitStride>
inline void conv_input_gradient_tile(const ConvShape& s, const float* dy, const float* weight,
                                     float* dx, int i, int ih, int iw) {
  const int stride = UnitStride ? 1 : s.stride;
  const int last_ow = stride * (s.out_width - 1);  // input column of the last output, kw = 0
  const int last_oh = stride * (s.out_height - 1);
  const int first_kh = std::max(0, ih - last_oh);
  const int end_kh = std::min(s.kernel, ih + 1);
  const std::int64_t tap = std::int64_t{s.kernel} * s.kernel;
  Vector sum[C][T];
  for (int c = 0; c < C; ++c) {
    for (int t = 0; t < T; ++t) sum[c][t] = Vector{};
  }
  for (int o = 0; o < s.out_channels; ++o) {
    for (int kh = first_kh; kh < end_kh; ++kh) {
      if (!UnitStride && (ih - kh) % stride != 0) continue;
      const float* dy_row = dy + s.out(o, UnitStride ? ih - kh : (ih - kh) / stride, 0);
      const float* w = weight + s.weight(o, i, kh, 0);
      for (int kw = 0; kw < s.kernel; ++kw, ++w) {
        const int distance = iw - kw;  // of the tile's first column to the output's column 0
        if (UnitStride && distance >= 0 && distance + T - 1 <= last_ow) {
          Vector dy_t[T];
          for (int t = 0; t < T; ++t) dy_t[t] = load(dy_row + 16 * (distance + t));
          for (int c = 0; c < C; ++c) {
            const Vector w_c = broadcast(w[c * tap]);
            for (int t = 0; t < T; ++t) sum[c][t] += w_c * dy_t[t];
          }
          continue;
        }
        for (int t = 0; t < T; ++t) {
          const int d = distance + t;
          if (d < 0 || d > last_ow || (!UnitStride && d % stride != 0)) continue;
          const Vector dy_t = load(dy_row + 16 * (UnitStride ? d : d / stride));
          for (int c = 0; c < C; ++c) sum[c][t] += broadcast(w[c * tap]) * dy_t;
        }
      }
    }
  }
  for (int c = 0; c < C; ++c) {
    for (int t = 0; t < T; ++t) store(dx + s.in(i + c, ih, iw + t), sum[c][t]);
  }
}

/// sums[c][t] = sum over `groups` groups of 16 samples and all output pixels of
/// dy[o + c, oh, ow] x[i, oh + kh, ow + kw + t]: per lane in the order (group, oh, ow), then the
/// lanes in a fixed tree. Overwrites.
template <int C, int T>
inline void conv_weight_gradient_tile(const ConvShape& s, const float* x, const float* dy,
                                      int groups, int o, int i, int kh, int kw, float* sums) {
  Vector sum[C][T];
  for (int c = 0; c < C; ++c) {
    for (int t = 0; t < T; ++t) sum[c][t] = Vector{};
  }
  const std::int64_t channel = s.out(1, 0, 0);
  const std::int64_t step = std::int64_t{16} * s.stride;
  for (int group = 0; group < groups; ++group) {
    for (int oh = 0; oh < s.out_height; ++oh) {
      const float* x_p = x + group * s.in_group() + s.in(i, oh * s.stride + kh, kw);
      const float* dy_p = dy + group * s.out_group() + s.out(o, oh, 0);
      for (int ow = 0; ow < s.out_width; ++ow) {
        Vector x_t[T];
        for (int t = 0; t < T; ++t) x_t[t] = load(x_p + 16 * t);
        for (int c = 0; c < C; ++c) {
          const Vector dy_c = load(dy_p + c * channel);
          for (int t = 0; t < T; ++t) sum[c][t] += dy_c * x_t[t];
        }
        x_p += step;
        dy_p += 16;
      }
    }
  }
  for (int c = 0; c < C; ++c) {
    for (int t = 0; t < T; ++t) sums[c * T + t] = sum_lanes(sum[c][t]);
  }
}

}  // namespace quern::simd
