// SPDX-License-Identifier: Apache-2.0
// Forward pass and input gradient of a convolution on a device. A thread computes 8 channels of two
// neighbouring columns of one sample; 16 neighbouring threads have the 16 samples of a lane group,
// so all their reads and writes are of neighbouring floats, and weights are the same for all of
// them.
//
// The chains of fused multiply-adds are those of layers/host/conv2d_tiles.hpp.
#pragma once

#include <cstdint>

#include "base/ceil_div.hpp"
#include "layers/conv_shape.hpp"

namespace quern::device {

/// Channels and columns of a thread.
inline constexpr int kTileChannels = 8;
inline constexpr int kTileColumns = 2;

KOKKOS_INLINE_FUNCTION constexpr int channel_tiles(int channels) {
  return ceil_div(channels, kTileChannels);
}
KOKKOS_INLINE_FUNCTION constexpr int column_tiles(int columns) {
  return ceil_div(columns, kTileColumns);
}

/// Weights of the 8 channels of a tile for one tap; read as two vectors of four.
struct TapWeights {
  struct alignas(16) Four {
    float value[4];
  };
  Four part[2];

  KOKKOS_INLINE_FUNCTION explicit TapWeights(const float* packed)
      : part{reinterpret_cast<const Four*>(packed)[0], reinterpret_cast<const Four*>(packed)[1]} {}
  KOKKOS_INLINE_FUNCTION float operator[](int c) const { return part[c / 4].value[c % 4]; }
};

/// Which (column pair, row, group, channel tile) a work item is, and which lane of it.
struct ConvItem {
  int lane;
  int column;  ///< the first of the pair
  int row;
  int group;
  int channel;  ///< the first of the tile

  KOKKOS_INLINE_FUNCTION ConvItem(std::int64_t item, int columns, int rows, int groups) {
    // 32 bits are enough (num_items() is checked) and divide faster.
    auto rest = static_cast<std::uint32_t>(item);
    lane = static_cast<int>(rest % kLanes);
    rest /= kLanes;
    const auto pairs = static_cast<std::uint32_t>(column_tiles(columns));
    column = static_cast<int>(rest % pairs) * kTileColumns;
    rest /= pairs;
    row = static_cast<int>(rest % static_cast<std::uint32_t>(rows));
    rest /= static_cast<std::uint32_t>(rows);
    group = static_cast<int>(rest % static_cast<std::uint32_t>(groups));
    channel = static_cast<int>(rest / static_cast<std::uint32_t>(groups)) * kTileChannels;
  }

  static std::int64_t num_items(int channels, int columns, int rows, int groups) {
    return std::int64_t{channel_tiles(channels)} * column_tiles(columns) * rows * groups * kLanes;
  }
};

/// y = W * x + b, then max(y, 0) if `relu`.
struct ConvForward {
  ConvShape shape;
  int groups;
  const float* x;
  const float* weights;  ///< [channel tile, taps, 8]
  const float* bias;     ///< or null
  bool relu;
  float* y;

  std::int64_t num_items() const {
    return ConvItem::num_items(shape.out_channels, shape.out_width, shape.out_height, groups);
  }

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    const ConvItem at(item, shape.out_width, shape.out_height, groups);
    // A second column that does not exist reads the first once more, and is not written.
    const bool both = at.column + 1 < shape.out_width;
    const std::int64_t second = both ? kLanes * shape.stride : 0;
    const float* corner = x + at.group * shape.in_group() +
                          shape.in(0, at.row * shape.stride, at.column * shape.stride) + at.lane;
    const float* w = weights + std::int64_t{at.channel} * shape.taps();
    float sum[kTileColumns][kTileChannels] = {};
    for (int i = 0; i < shape.in_channels; ++i) {
      for (int kh = 0; kh < shape.kernel; ++kh) {
        const float* x_row = corner + shape.in(i, kh, 0);
        for (int kw = 0; kw < shape.kernel; ++kw, x_row += kLanes, w += kTileChannels) {
          const TapWeights tap(w);
          const float x_t[kTileColumns] = {x_row[0], x_row[second]};
          for (int t = 0; t < kTileColumns; ++t)
            for (int c = 0; c < kTileChannels; ++c)
              sum[t][c] = Kokkos::fma(tap[c], x_t[t], sum[t][c]);
        }
      }
    }
    for (int c = 0; c < kTileChannels && at.channel + c < shape.out_channels; ++c) {
      const int o = at.channel + c;
      float* out = y + at.group * shape.out_group() + shape.out(o, at.row, at.column) + at.lane;
      for (int t = 0; t < kTileColumns; ++t) {
        const float value = sum[t][c] + (bias ? bias[o] : 0.0f);
        if (t == 0 || both) out[kLanes * t] = relu && value <= 0 ? 0 : value;
      }
    }
  }
};

/// dx = sum over outputs of W dy, 0 where x_mask is not above 0.
struct ConvInputGradient {
  ConvShape shape;
  int groups;
  const float* dy;
  const float* weights;  ///< [channel tile, kernel column, out channels, kernel row, 8]
  const float* x_mask;   ///< or null
  float* dx;

  std::int64_t num_items() const {
    return ConvItem::num_items(shape.in_channels, shape.in_width, shape.in_height, groups);
  }

  /// The column of y that column `iw` of x meets in kernel column `kw`, -1 if none.
  KOKKOS_INLINE_FUNCTION int output_column(int iw, int kw) const {
    const int scaled = iw - kw;
    if (iw >= shape.in_width || scaled < 0 || scaled % shape.stride != 0) return -1;
    return scaled / shape.stride < shape.out_width ? scaled / shape.stride : -1;
  }

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    const ConvItem at(item, shape.in_width, shape.in_height, groups);
    const float* from = dy + at.group * shape.out_group() + at.lane;
    // Kernel rows that meet a row of y: every stride-th one from the first.
    const int above = at.row - (shape.out_height - 1) * shape.stride;
    const int first_kh = above >= 0 ? above : at.row % shape.stride;
    const int end_kh = shape.kernel < at.row + 1 ? shape.kernel : at.row + 1;
    const std::int64_t taps_of_column = std::int64_t{shape.out_channels} * shape.kernel;
    const float* tile =
        weights + std::int64_t{at.channel} * shape.kernel * shape.out_channels * shape.kernel;
    float sum[kTileColumns][kTileChannels] = {};
    for (int kw = 0; kw < shape.kernel; ++kw) {
      const int column[kTileColumns] = {output_column(at.column, kw),
                                        output_column(at.column + 1, kw)};
      if (column[0] < 0 && column[1] < 0) continue;
      for (int o = 0; o < shape.out_channels; ++o) {
        const float* w =
            tile + (kw * taps_of_column + std::int64_t{o} * shape.kernel) * kTileChannels;
        for (int kh = first_kh; kh < end_kh; kh += shape.stride) {
          const TapWeights tap(w + kh * kTileChannels);
          const float* dy_row = from + shape.out(o, (at.row - kh) / shape.stride, 0);
          for (int t = 0; t < kTileColumns; ++t) {
            if (column[t] < 0) continue;
            const float gradient = dy_row[kLanes * column[t]];
            for (int c = 0; c < kTileChannels; ++c)
              sum[t][c] = Kokkos::fma(tap[c], gradient, sum[t][c]);
          }
        }
      }
    }
    for (int c = 0; c < kTileChannels && at.channel + c < shape.in_channels; ++c) {
      for (int t = 0; t < kTileColumns && at.column + t < shape.in_width; ++t) {
        const std::int64_t place =
            at.group * shape.in_group() + shape.in(at.channel + c, at.row, at.column + t) + at.lane;
        dx[place] = x_mask && x_mask[place] <= 0 ? 0 : sum[t][c];
      }
    }
  }
};

}  // namespace quern::device
