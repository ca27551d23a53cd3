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

/// `channels` neighbouring planes of a group, of floats or bfloat16.
template <class T>
struct PlanesOf {
  const T* data;
  int channels;
  int height;
  int width;

  const T* row(int channel, int h) const {
    return data + std::int64_t{kLanes} * (std::int64_t{channel} * height + h) * width;
  }
};
template <class T>
PlanesOf(const T*, int, int, int) -> PlanesOf<T>;
using Planes = PlanesOf<float>;

/// Copies the window of the planes to panel [channels, rows, columns], zero outside of them.
inline void copy_window(const Planes& planes, const PlaneWindow& window, float* panel) {
  const int height = planes.height;
  const int width = planes.width;
  const std::int64_t row_floats = std::int64_t{kLanes} * window.columns;
  // Columns before the plane, and in it.
  const int before = std::clamp(-window.column, 0, window.columns);
  const int inside = std::clamp(width - window.column, before, window.columns) - before;
  for (int c = 0; c < planes.channels; ++c) {
    for (int r = 0; r < window.rows; ++r, panel += row_floats) {
      const int h = window.row + r * window.step;
      if (h < 0 || h >= height) {
        std::fill_n(panel, row_floats, 0.0f);
        continue;
      }
      const float* row = planes.row(c, h);
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

/// The window is all of the planes.
inline bool is_whole(const Planes& planes, const PlaneWindow& window) {
  return window.step == 1 && window.row == 0 && window.column == 0 &&
         window.rows == planes.height && window.columns == planes.width;
}

/// Brings the lines of a window into the second-level cache, a row at a time beside other work:
/// copy_window() would wait for them.
class WindowAhead {
 public:
  WindowAhead() = default;
  WindowAhead(const Planes& planes, const PlaneWindow& window)
      : planes_(planes), window_(window), rows_(planes.channels * window.rows) {}

  int rows() const { return rows_; }

  /// False: all have come.
  bool fetch_row() {
    if (next_ == rows_) return false;
    const int channel = next_ / window_.rows;
    const int h = window_.row + next_ % window_.rows * window_.step;
    ++next_;
    if (h < 0 || h >= planes_.height) return true;
    const float* row = planes_.row(channel, h);
    const int end = window_.column + window_.columns * window_.step;
    for (int w = window_.column; w < end; w += window_.step) {
      if (w >= 0 && w < planes_.width)
        simd::prefetch_to_second_level(row + std::int64_t{kLanes} * w);
    }
    return true;
  }

 private:
  Planes planes_{};
  PlaneWindow window_{};
  int rows_ = 0;
  int next_ = 0;
};

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

  /// A part as large as any.
  PanelPlace largest() const { return {0, 0, rows_.size(0), 0, columns_.size(0)}; }
  /// The most of floats(part) of all parts of a group.
  template <class Floats>
  std::int64_t most(Floats floats) const {
    std::int64_t most = 0;
    for (int item = 0; item < rows_.pieces * columns_.pieces; ++item)
      most = std::max(most, floats((*this)[item]));
    return most;
  }

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
  simd::EvenSplit columns_;
};

/// A convolution with a kernel of one pixel is a product: pixels in any order, here as one row.
/// Others stay as they are. Only where every pixel is read.
inline ConvShape as_product(const ConvShape& s) {
  if (s.kernel > 1 || s.stride > 1 || s.padding > 0 || s.in_height != s.out_height ||
      s.in_width != s.out_width) {
    return s;
  }
  ConvShape product = s;
  product.in_height = product.out_height = 1;
  product.in_width = product.out_width = s.in_height * s.in_width;
  return product;
}

}  // namespace quern::host
