// SPDX-License-Identifier: Apache-2.0
// Panels of a convolution whose operands are bfloat16 (conv2d_panels.hpp has those of float): the
// part of an image that a work item reads, rounded, in the order in which tiles hold it, with the
// border of zeros. 32 bfloat16, a cache line, hold two values of 16 samples.
#pragma once

#include "layers/host/conv2d_panels.hpp"
#include "linalg/host/bf16_tiles.hpp"
#include "linalg/host/simd_bf16.hpp"

namespace quern::host {

/// bfloat16 of two values of a group's samples.
inline constexpr int kPairLine = 2 * kLanes;
/// What a tile reads beyond the end of a panel, at most.
inline constexpr int kPanelSlack = kTileBf16;

constexpr int count_pairs(int count) {
  return (count + 1) / 2;
}
constexpr int count_tiles(int count) {
  return (count + kTileRows - 1) / kTileRows;
}
/// Floats that take the room of so many bfloat16, an even number.
constexpr std::int64_t floats_of(std::int64_t bf16) {
  return bf16 / 2;
}

/// 16 samples of a pixel of a row, zero beyond its ends.
struct PixelRow {
  const float* data;  // null: zeros
  int width;

  simd::Vector operator[](int w) const {
    return w >= 0 && w < width ? simd::load(data + std::int64_t{kLanes} * w) : simd::Vector{};
  }
};

inline PixelRow pixel_row(const Planes& planes, int channel, int h) {
  const bool is_inside = h >= 0 && h < planes.height;
  return {is_inside ? planes.row(channel, h) : nullptr, is_inside ? planes.width : 0};
}

/// Floats of a panel of `channels` per pixel.
inline std::int64_t channel_pair_floats(const PlaneWindow& window, int channels) {
  return floats_of(std::int64_t{window.rows} * window.columns * count_pairs(channels) * kPairLine +
                   kPanelSlack);
}

/// The window as operand B of a sum over channels and neighbouring pixels: panel [rows, columns,
/// pairs of channels, 16 samples, 2], then zeros. An odd number of channels gets one of zeros.
/// A pixel of the panel has the channels of `fold` pixels below each other, those of the first one
/// first.
inline void pack_channel_pairs(const Planes& planes, const PlaneWindow& window, int fold,
                               Bf16* panel) {
  const int channels = planes.channels * fold;
  const int pairs = count_pairs(channels);
  const std::int64_t pixel = std::int64_t{pairs} * kPairLine;
  for (int pair = 0; pair < pairs; ++pair) {
    for (int r = 0; r < window.rows; ++r) {
      const int h = window.row + r * window.step;
      const auto row_of = [&](int channel) {
        return channel < channels
                   ? pixel_row(planes, channel % planes.channels, h + channel / planes.channels)
                   : PixelRow{nullptr, 0};
      };
      const PixelRow first = row_of(2 * pair);
      const PixelRow second = row_of(2 * pair + 1);
      Bf16* to = panel + r * window.columns * pixel + pair * kPairLine;
      for (int k = 0; k < window.columns; ++k, to += pixel) {
        const int w = window.column + k * window.step;
        simd::store_pairs(to, simd::round_pairs(first[w], second[w]));
      }
    }
  }
  std::fill_n(panel + window.rows * window.columns * pixel, kPanelSlack, Bf16{0});
}

inline std::int64_t pixel_pair_floats(const PlaneWindow& window, int channels) {
  return floats_of(std::int64_t{window.rows} * window.columns * channels * kPairLine + kPanelSlack);
}

/// The window as operand A of a sum over samples and pairs of pixels `distance` apart: panel [rows,
/// columns, channels, 16 samples, 2], then zeros.
inline void pack_pixel_pairs(const Planes& planes, const PlaneWindow& window, int column_step,
                             int distance, Bf16* panel) {
  const std::int64_t pixel = std::int64_t{planes.channels} * kPairLine;
  for (int c = 0; c < planes.channels; ++c) {
    for (int r = 0; r < window.rows; ++r) {
      const PixelRow row = pixel_row(planes, c, window.row + r * window.step);
      Bf16* to = panel + r * window.columns * pixel + c * kPairLine;
      for (int k = 0; k < window.columns; ++k, to += pixel) {
        const int w = window.column + k * column_step;
        simd::store_pairs(to, simd::round_pairs(row[w], row[w + distance]));
      }
    }
  }
  std::fill_n(panel + window.rows * window.columns * pixel, kPanelSlack, Bf16{0});
}

}  // namespace quern::host
