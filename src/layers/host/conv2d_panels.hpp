// SPDX-License-Identifier: Apache-2.0
// Panels of a convolution: the part of an image that a work item reads, copied to neighbouring
// lines of the second-level cache, with the border of zeros that the image does not have in memory.
// In the image itself, neighbouring channels lie a power of two apart, as the heights and widths of
// most networks are: such lines displace each other.
#pragma once

#include <algorithm>
#include <cstdint>

#include "layers/conv_shape.hpp"
#include "linalg/host/gemm_tile.hpp"

namespace quern::host {

/// Floats of a panel, at most, where one row of a tile has room in it: a quarter of the smallest
/// second-level cache that the kernels are tuned for.
inline constexpr std::int64_t kPanelFloats = 96 * 1024;

/// Rows and columns of the planes of a group, which may lie outside; every `step`-th one.
struct PlaneWindow {
  int row;
  int rows;
  int column;
  int columns;
  int step = 1;

  std::int64_t floats(int channels) const {
    return std::int64_t{kLanes} * channels * rows * columns;
  }
};

/// Copies the window of `channels` planes of height x width pixels to panel [channels, rows,
/// columns], zero outside of the planes.
inline void copy_window(const float* planes, int channels, int height, int width,
                        const PlaneWindow& window, float* panel) {
  const std::int64_t row_floats = std::int64_t{kLanes} * window.columns;
  // Columns before the plane, and in it.
  const int before = std::clamp(-window.column, 0, window.columns);
  const int inside = std::clamp(width - window.column, before, window.columns) - before;
  for (int c = 0; c < channels; ++c) {
    for (int r = 0; r < window.rows; ++r, panel += row_floats) {
      const int h = window.row + r * window.step;
      if (h < 0 || h >= height) {
        std::fill_n(panel, row_floats, 0.0f);
        continue;
      }
      const float* row = planes + std::int64_t{kLanes} * (c * height + h) * width;
      if (window.step == 1) {
        float* to = std::fill_n(panel, std::int64_t{kLanes} * before, 0.0f);
        to = std::copy_n(row + std::int64_t{kLanes} * (window.column + before),
                         std::int64_t{kLanes} * inside, to);
        std::fill(to, panel + row_floats, 0.0f);
        continue;
      }
      for (int k = 0; k < window.columns; ++k) {
        const int w = window.column + k * window.step;
        if (w < 0 || w >= width) {
          std::fill_n(panel + kLanes * k, kLanes, 0.0f);
        } else {
          simd::store(panel + kLanes * k, simd::load(row + std::int64_t{kLanes} * w));
        }
      }
    }
  }
}

/// Part of the rows and columns of a plane of results.
struct PanelPlace {
  int group;
  int row;
  int rows;
  int column;
  int columns;
};

/// The results of `groups` groups, height x width each, cut so that what a part reads fits into
/// kPanelFloats: whole rows where it can be, else pieces of one row.
class PanelGrid {
 public:
  /// floats(rows, columns): of the panel of a part. `threads` shall all find work.
  template <class Floats>
  PanelGrid(int groups, int height, int width, int threads, Floats floats)
      : groups_(groups),
        rows_(height, most_rows(groups, height, width, threads, floats)),
        columns_(width, most_columns(width, floats)) {}

  std::int64_t count() const { return std::int64_t{groups_} * rows_.pieces * columns_.pieces; }

  /// Columns run fastest, then rows.
  PanelPlace operator[](std::int64_t item) const {
    const int column = static_cast<int>(item % columns_.pieces);
    item /= columns_.pieces;
    const int row = static_cast<int>(item % rows_.pieces);
    return {static_cast<int>(item / rows_.pieces), rows_.begin(row), rows_.size(row),
            columns_.begin(column), columns_.size(column)};
  }

 private:
  template <class Floats>
  static int most_rows(int groups, int height, int width, int threads, Floats floats) {
    const std::int64_t fair = std::int64_t{groups} * height / (2 * std::max(1, threads));
    const int most =
        threads == 1 ? height : static_cast<int>(std::clamp<std::int64_t>(fair, 1, height));
    int rows = 1;
    while (rows < most && floats(rows + 1, width) <= kPanelFloats) ++rows;
    return rows;
  }

  template <class Floats>
  static int most_columns(int width, Floats floats) {
    if (floats(1, width) <= kPanelFloats) return width;
    int columns = simd::kConvColumns;
    while (floats(1, columns + simd::kConvColumns) <= kPanelFloats) columns += simd::kConvColumns;
    return columns;
  }

  int groups_;
  simd::EvenSplit rows_;
  simd::FixedSplit columns_;
};

/// A convolution with a kernel of one pixel is a product: pixels in any order, here as one row.
/// Others stay as they are. Only where every pixel is read.
inline ConvShape as_product(const ConvShape& s) {
  if (s.kernel > 1 || s.stride > 1 || s.padding > 0 || s.in_height != s.out_height ||
      s.in_width != s.out_width) {
    return s;
  }
  const int pixels = s.in_height * s.in_width;
  return {s.in_channels, 1, pixels, s.out_channels, 1, pixels, 1, 1, 0};
}

}  // namespace quern::host
