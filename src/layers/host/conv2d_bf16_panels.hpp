// SPDX-License-Identifier: Apache-2.0
// Panels of a convolution whose operands are bfloat16 (conv2d_panels.hpp has those of float): the
// part of an image that a work item reads, rounded, in the order in which tiles hold it, with the
// border of zeros. 32 bfloat16, a cache line, hold two values of 16 samples.
#pragma once

#include "base/ceil_div.hpp"
#include "layers/host/conv2d_panels.hpp"
#include "layers/host/stored_values.hpp"
#include "linalg/host/bf16_tiles.hpp"

namespace quern::host {

/// bfloat16 of two values of a group's samples.
inline constexpr int kPairLine = 2 * kLanes;
/// What a tile reads beyond the end of a panel, at most.
inline constexpr int kPanelSlack = kTileBf16;

constexpr int count_pairs(int count) {
  return (count + 1) / 2;
}
constexpr int count_tiles(int count) {
  return ceil_div(count, kTileRows);
}
/// Floats that take the room of so many bfloat16, an even number.
constexpr std::int64_t floats_of(std::int64_t bf16) {
  return bf16 / 2;
}

/// 16 samples of a pixel of a row, zero beyond its ends.
template <class T>
struct PixelRow {
  using Samples = decltype(load_values(static_cast<const T*>(nullptr)));

  const T* data;  // null: zeros
  int width;

  Samples operator[](int w) const {
    return w >= 0 && w < width ? load_values(data + std::int64_t{kLanes} * w) : Samples{};
  }
};

template <class T>
PixelRow<T> pixel_row(const PlanesOf<T>& planes, int channel, int h) {
  const bool is_inside = h >= 0 && h < planes.height;
  return {is_inside ? planes.row(channel, h) : nullptr, is_inside ? planes.width : 0};
}

/// Floats of a panel of `channels` per pixel.
inline std::int64_t channel_pair_floats(const PlaneWindow& window, int channels) {
  return floats_of(std::int64_t{window.rows} * window.columns * count_pairs(channels) * kPairLine +
                   kPanelSlack);
}

/// Fills a panel [lines / run][rows, columns of the window][run][16 samples, 2] with
/// line(source(l, r), k) for line l at row r and column k, and the slack behind each run with
/// zeros. A run is all lines, or a multiple of 8 that divides their number. Some lines at a time
/// are written side by side: one by one they would lie a multiple of 4 KB apart, in other pages and
/// the same set of a cache.
template <class Source, class Line>
inline void fill_panel(const PlaneWindow& window, int lines, int run, const Source& source,
                       const Line& line, Bf16* panel) {
  constexpr int kAtOnce = 8;
  const std::int64_t pixel = std::int64_t{run} * kPairLine;
  const std::int64_t slack = window.rows * window.columns * pixel;
  const std::int64_t next_run = slack + kPanelSlack;
  for (int first = 0; first < lines; first += kAtOnce) {
    const int count = std::min(kAtOnce, lines - first);
    Bf16* to = panel + first / run * next_run + first % run * kPairLine;
    for (int r = 0; r < window.rows; ++r) {
      decltype(source(0, 0)) from[kAtOnce];
      for (int i = 0; i < count; ++i) from[i] = source(first + i, r);
      for (int k = 0; k < window.columns; ++k, to += pixel)
        for (int i = 0; i < count; ++i) simd::store_pairs(to + i * kPairLine, line(from[i], k));
    }
  }
  for (int i = 0; i < lines / run; ++i)
    std::fill_n(panel + i * next_run + slack, kPanelSlack, Bf16{0});
}

/// The window as operand B of a sum over channels and neighbouring pixels: panel [rows, columns,
/// pairs of channels, 16 samples, 2], then zeros. An odd number of channels gets one of zeros.
/// A pixel of the panel has the channels of `fold` pixels below each other, those of the first one
/// first.
template <class T>
void pack_channel_pairs(const PlanesOf<T>& planes, const PlaneWindow& window, int fold,
                        Bf16* panel) {
  struct Rows {
    PixelRow<T> first;
    PixelRow<T> second;
  };
  const int channels = planes.channels * fold;
  const auto row_of = [&](int channel, int h) {
    return channel < channels
               ? pixel_row(planes, channel % planes.channels, h + channel / planes.channels)
               : PixelRow<T>{nullptr, 0};
  };
  const auto column = [&](int k) { return window.column + k * window.step; };
  const int pairs = count_pairs(channels);
  fill_panel(
      window, pairs, pairs,
      [&](int pair, int r) {
        const int h = window.row + r * window.step;
        return Rows{row_of(2 * pair, h), row_of(2 * pair + 1, h)};
      },
      [&](const Rows& rows, int k) {
        return pairs_of(rows.first[column(k)], rows.second[column(k)]);
      },
      panel);
}

/// Floats of the panel of a run of channels.
inline std::int64_t pixel_pair_floats(const PlaneWindow& window, int run) {
  return floats_of(std::int64_t{window.rows} * window.columns * run * kPairLine + kPanelSlack);
}

/// The window as operand A of a sum over samples and pairs of pixels `distance` apart: for every
/// `run` channels a panel [rows, columns, channels, 16 samples, 2], then zeros.
template <class T>
void pack_pixel_pairs(const PlanesOf<T>& planes, int run, const PlaneWindow& window,
                      int column_step, int distance, Bf16* panel) {
  const auto column = [&](int k) { return window.column + k * column_step; };
  fill_panel(
      window, planes.channels, run,
      [&](int c, int r) { return pixel_row(planes, c, window.row + r * window.step); },
      [&](const PixelRow<T>& row, int k) {
        return pairs_of(row[column(k)], row[column(k) + distance]);
      },
      panel);
}

}  // namespace quern::host
