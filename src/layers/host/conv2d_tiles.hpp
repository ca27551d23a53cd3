// SPDX-License-Identifier: Apache-2.0
// Register tiles of the direct convolution, vectorised over 16 samples (Layout::nchw16n): no
// im2col, no wasted lanes on odd widths or channel counts. What a tile reads are images, or panels
// of them (conv2d_panels.hpp).
//
// Every output element is one chain of fused multiply-adds in a fixed order (forward: input
// channel, kernel row, kernel column; input gradient: output channel, kernel row, kernel column),
// whatever the tile, so tile sizes do not change bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "layers/conv_shape.hpp"
#include "linalg/host/gemm_tile.hpp"

namespace quern::simd {

/// Values of a set of columns, C channels by T columns, in registers.
template <int C, int T>
struct ConvTile {
  Vector sum[C][T];

  void clear() {
    for (int c = 0; c < C; ++c) {
      for (int t = 0; t < T; ++t) sum[c][t] = Vector{};
    }
  }

  /// The columns [First, First + Count).
  template <int First, int Count>
  [[gnu::always_inline]] ConvTile<C, Count> columns() const {
    ConvTile<C, Count> part;
    for (int c = 0; c < C; ++c) {
      for (int t = 0; t < Count; ++t) part.sum[c][t] = sum[c][First + t];
    }
    return part;
  }

  /// Puts `part` in the place of the columns from First on.
  template <int First, int Count>
  [[gnu::always_inline]] void set_columns(const ConvTile<C, Count>& part) {
    for (int c = 0; c < C; ++c) {
      for (int t = 0; t < Count; ++t) sum[c][First + t] = part.sum[c][t];
    }
  }

  /// sum[c][t] += w[c] * image[16 t step] for the columns t in [First, First + Count).
  template <int First, int Count>
  [[gnu::always_inline]] void multiply_add(const float* w, const float* image, std::int64_t step) {
    Vector image_t[Count];
    for (int t = 0; t < Count; ++t) image_t[t] = load(image + kWidth * step * (First + t));
    for (int c = 0; c < C; ++c) {
      const Vector w_c = broadcast(w[c]);
      for (int t = 0; t < Count; ++t)
        sum[c][First + t] = simd::multiply_add(w_c, image_t[t], sum[c][First + t]);
    }
  }
};

/// y[o .. o+C-1, oh, ow .. ow+T-1] of one group of 16 samples. Overwrites.
/// `weights` are packed for these channels, [taps, C]; `bias` may be null. K: the kernel's size, 0
/// if only known when running.
template <int C, int T, int K>
inline void conv_forward_tile(const ConvShape& s, const float* x, const float* weights,
                              const float* bias, bool with_relu, float* y, int o, int oh, int ow) {
  const int kernel = K > 0 ? K : s.kernel;
  // The lines of y come while the tile is computed, if that takes longer than asking for them.
  constexpr int kFewTaps = 32;
  if (s.taps() > kFewTaps) {
    for (int c = 0; c < C; ++c) {
      for (int t = 0; t < T; ++t) prefetch_to_write(y + s.out(o + c, oh, ow + t));
    }
  }
  ConvTile<C, T> tile;
  tile.clear();
  for (int i = 0; i < s.in_channels; ++i) {
    for (int kh = 0; kh < kernel; ++kh) {
      const float* x_row = x + s.in(i, oh * s.stride + kh, ow * s.stride);
#pragma GCC unroll 5
      for (int kw = 0; kw < kernel; ++kw) {
        tile.template multiply_add<0, T>(weights, x_row + kWidth * kw, s.stride);
        weights += C;
      }
    }
  }
  QUERN_UNROLL
  for (int c = 0; c < C; ++c) {
    const Vector b = bias ? broadcast(bias[o + c]) : Vector{};
    for (int t = 0; t < T; ++t) {
      const Vector y_ct = tile.sum[c][t] + b;
      store(y + s.out(o + c, oh, ow + t), with_relu ? relu(y_ct) : y_ct);
    }
  }
}

/// Calls f<n>() with n = count, 1 <= count <= 5, so that a loop of n steps is written out; f<0>()
/// for more.
template <class F>
inline void with_few(int count, F&& f) {
  if (count > 5) {
    f.template operator()<0>();
  } else {
    with_constant<5>(count, static_cast<F&&>(f));
  }
}

/// Calls f<First, Count>() for 0 <= first, first + count <= T, count >= 1.
template <int T, class F>
inline void with_range(int first, int count, F&& f) {
  with_constant<T>(count, [&]<int Count>() {
    with_constant<T - Count + 1>(
        first + 1, [&]<int FirstPlusOne>() { f.template operator()<FirstPlusOne - 1, Count>(); });
  });
}

/// dy of one group: rows from first_row and columns from first_column on, as many as `rows` and
/// `columns` of [out channels, rows, columns].
struct GradientPanel {
  const float* data;
  int first_row;
  int rows;
  int first_column;
  int columns;

  std::int64_t channel() const { return std::int64_t{kWidth} * rows * columns; }
  const float* at(int row, int column) const {
    return data + std::int64_t{kWidth} * ((row - first_row) * columns + column - first_column);
  }
};

/// dx[i .. i+C-1, h, w, w + stride .. w + (T-1) stride] of one group of 16 samples: columns that
/// meet the same kernel columns. Overwrites. Zero where x_mask, laid out like dx, is not above 0;
/// null: everywhere kept.
/// `weights` are packed for these channels, [kw, out channels, kh, C]. Not inlined: among what else
/// its caller keeps, GCC 12 has no register for a third of the sums on AVX2.
template <int C, int T>
[[gnu::noinline]] inline void conv_input_gradient_tile(const ConvShape& s, const GradientPanel& dy,
                                                       const float* weights, const float* x_mask,
                                                       float* dx, int i, int h, int w) {
  // Row ih of x with its border meets output row (ih - kh) / stride in every stride-th kernel row.
  const int ih = h + s.padding;
  const int iw = w + s.padding;
  const int above = ih - (s.out_height - 1) * s.stride;
  const int first_kh = above >= 0 ? above : ih % s.stride;
  const int end_kh = std::min(s.kernel, ih + 1);
  // 0 where the only outputs would be ones that nobody reads.
  const int num_rows = end_kh > first_kh ? (end_kh - first_kh - 1) / s.stride + 1 : 0;
  const std::int64_t next_kh = std::int64_t{s.stride} * C;
  const std::int64_t next_row = std::int64_t{kWidth} * dy.columns;
  // The lines of dx come while the tile is computed.
  for (int c = 0; c < C; ++c) {
    for (int t = 0; t < T; ++t) prefetch_to_write(dx + s.image(i + c, h, w + s.stride * t));
  }
  ConvTile<C, T> tile;
  tile.clear();
  for (int kw = iw % s.stride; kw < s.kernel; kw += s.stride) {
    // Column t of the tile meets output column `column` + t, where there is one.
    const int column = (iw - kw) / s.stride;
    const int first = std::max(0, -column);
    const int count = std::min(T, s.out_width - column) - first;
    if (count <= 0 || num_rows <= 0) continue;
    with_range<T>(first, count, [&]<int First, int Count>() {
      const float* w_o = weights + (std::int64_t{kw} * s.out_channels * s.kernel + first_kh) * C;
      const float* dy_o = dy.at((ih - first_kh) / s.stride, column + First);
      with_few(num_rows, [&]<int Rows>() {
        const int rows = Rows > 0 ? Rows : num_rows;
        // What a lambda holds by reference may lie in memory (GCC 12 stores at every step): a copy
        // of its own stays in registers.
        ConvTile<C, Count> part = tile.template columns<First, Count>();
        for (int o = 0; o < s.out_channels; ++o, w_o += s.kernel * C, dy_o += dy.channel()) {
          for (int k = 0; k < rows; ++k) {
            part.template multiply_add<0, Count>(w_o + k * next_kh, dy_o - k * next_row, 1);
          }
        }
        tile.template set_columns<First>(part);
      });
    });
  }
  for (int c = 0; c < C; ++c) {
    for (int t = 0; t < T; ++t) {
      const std::int64_t place = s.image(i + c, h, w + s.stride * t);
      store(dx + place,
            x_mask ? relu_backward(load(x_mask + place), tile.sum[c][t]) : tile.sum[c][t]);
    }
  }
}

inline float* first_lane(Vector* vector) {
  return reinterpret_cast<float*>(vector);
}

/// A register of dy for several products. GCC would load it anew for each; Clang loads it once, and
/// keeps a third of a tile's sums of AVX2 in memory if it is told to.
[[gnu::always_inline]] inline Register load_gradient(const float* dy) {
#if defined(__clang__)
  return load<Register>(dy);
#else
  return in_register(load<Register>(dy));
#endif
}

/// One step of a row of a weight gradient: sum[c][t] += dy[c] x[Begin + t mod T] in one register's
/// lanes.
template <int C, int T, int Begin>
[[gnu::always_inline]] inline void add_pixel(Register* sum, const Register* x, const float* dy,
                                             std::int64_t channel) {
  for (int c = 0; c < C; ++c) {
    const Register dy_c = load_gradient(dy + c * channel);
    for (int t = 0; t < T; ++t)
      sum[c * T + t] = simd::multiply_add(dy_c, x[(Begin + t) % T], sum[c * T + t]);
  }
}

/// sum[c][t] += dy[c, ow] x[ow + t] for ow = 0 .. width - 1, in this order: neighbours share all
/// but one of the pixels of x, which stay in registers. `ring` holds pixel ow + t at (ow + t) % T.
template <int C, int T>
[[gnu::always_inline]] inline void add_row(Register* sum, const float* x, const float* dy,
                                           std::int64_t channel, int width) {
  Register ring[T];
  for (int t = 0; t + 1 < T; ++t) ring[t] = in_register(load<Register>(x + kWidth * t));
  int ow = 0;
  // Returns whether the row goes on.
  const auto step = [&]<int Step>() __attribute__((always_inline)) {
    ring[(Step + T - 1) % T] = in_register(load<Register>(x + kWidth * (T - 1 + Step)));
    add_pixel<C, T, Step>(sum, ring, dy + kWidth * Step, channel);
    return ++ow < width;
  };
  const auto round = [&]<int... Step>(std::integer_sequence<int, Step...>)
      __attribute__((always_inline)) {
    return (step.template operator()<Step>() && ...);
  };
  while (round(std::make_integer_sequence<int, T>{})) {
    x += kWidth * T;
    dy += kWidth * T;
  }
}

// The registers of a tile from and to one register's part of its lanes, from `lane` on. Two loops:
// of one over all C T GCC 12 makes a copy by memcpy through the stack, 7 % of a weight gradient.
template <int C, int T, bool Fresh>
[[gnu::always_inline]] inline void load_sums(Vector* lanes, int lane, Register* sum) {
  for (int c = 0; c < C; ++c) {
    for (int t = 0; t < T; ++t) {
      const int k = c * T + t;
      sum[k] = Fresh ? Register{} : load<Register>(first_lane(lanes + k) + lane);
    }
  }
}
template <int C, int T>
[[gnu::always_inline]] inline void store_sums(const Register* sum, int lane, Vector* lanes) {
  for (int c = 0; c < C; ++c) {
    for (int t = 0; t < T; ++t) store(first_lane(lanes + c * T + t) + lane, sum[c * T + t]);
  }
}

/// lanes[c][t] (+)= sum over `groups` groups of 16 samples and all output pixels of
/// dy[o + c, oh, ow] x[i, oh + kh, ow + kw + t]: in each lane one chain in the order (group, oh,
/// ow). The lanes are added by sum_lanes() after the last pixel. Fresh: the
/// chains begin here; otherwise they go on from `lanes`. Not inlined, because GCC 12 takes the
/// registers of an inlined tile for the caller's `lanes` and stores them at every step.
template <int C, int T, bool Fresh>
[[gnu::noinline]] inline void conv_weight_gradient_tile(const ConvShape& s, const float* x,
                                                        const float* dy, int groups, int o, int i,
                                                        int kh, int kw, Vector* lanes) {
  const std::int64_t channel = s.out(1, 0, 0);
  const std::int64_t step = std::int64_t{kWidth} * s.stride;
  // Lanes do not meet before the end: as many at a time as a register has, so that a tile of sums
  // fills the register file once.
  for (int lane = 0; lane < kWidth; lane += kRegisterLanes) {
    Register sum[C * T];
    load_sums<C, T, Fresh>(lanes, lane, sum);
    for (int group = 0; group < groups; ++group) {
      for (int oh = 0; oh < s.out_height; ++oh) {
        const float* x_p = x + group * s.in_group() + s.in(i, oh * s.stride + kh, kw) + lane;
        const float* dy_p = dy + group * s.out_group() + s.out(o, oh, 0) + lane;
        if (s.stride == 1) {
          add_row<C, T>(sum, x_p, dy_p, channel, s.out_width);
          continue;
        }
        for (int ow = 0; ow < s.out_width; ++ow) {
          Register x_t[T];
          for (int t = 0; t < T; ++t) x_t[t] = in_register(load<Register>(x_p + kWidth * t));
          for (int c = 0; c < C; ++c) {
            const Register dy_c = load_gradient(dy_p + c * channel);
            for (int t = 0; t < T; ++t)
              sum[c * T + t] = simd::multiply_add(dy_c, x_t[t], sum[c * T + t]);
          }
          x_p += step;
          dy_p += kWidth;
        }
      }
    }
    store_sums<C, T>(sum, lane, lanes);
  }
}

/// The same for a kernel of one pixel and T neighbouring channels of x instead of columns:
/// lanes[c][t] += sum over `pixels` pixels of dy[c] x[t], channels `plane` floats apart.
template <int C, int T, bool Fresh>
[[gnu::noinline]] inline void conv_weight_gradient_product(const float* x, const float* dy,
                                                           std::int64_t plane, int pixels,
                                                           Vector* lanes) {
  for (int lane = 0; lane < kWidth; lane += kRegisterLanes) {
    Register sum[C * T];
    load_sums<C, T, Fresh>(lanes, lane, sum);
    const float* x_p = x + lane;
    const float* dy_p = dy + lane;
    for (int pixel = 0; pixel < pixels; ++pixel, x_p += kWidth, dy_p += kWidth) {
      Register x_t[T];
      for (int t = 0; t < T; ++t) x_t[t] = in_register(load<Register>(x_p + t * plane));
      for (int c = 0; c < C; ++c) {
        const Register dy_c = load_gradient(dy_p + c * plane);
        for (int t = 0; t < T; ++t)
          sum[c * T + t] = simd::multiply_add(dy_c, x_t[t], sum[c * T + t]);
      }
    }
    store_sums<C, T>(sum, lane, lanes);
  }
}

}  // namespace quern::simd
