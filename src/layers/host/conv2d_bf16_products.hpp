// SPDX-License-Identifier: Apache-2.0
// Sums over channels and kernel pixels on tiles of bfloat16: what forward and the input gradient
// of a convolution are, up to which pixels they read and write.
#pragma once

#include "base/ceil_div.hpp"
#include "layers/host/conv2d_bf16_panels.hpp"

namespace quern::host {

/// A kernel's k in tiles: the values of a kernel row, pairs of channels running faster than
/// columns, are neighbours in a panel. The last tile of a row may read beyond it: there weights are
/// zero.
struct KernelTiles {
  int rows;
  int columns;
  int channels;

  int row_values() const { return columns * 2 * count_pairs(channels); }
  int row_tiles() const { return ceil_div(row_values(), kTileDepth); }
  /// bfloat16 of the weights of 16 results.
  std::int64_t weights() const { return std::int64_t{rows} * row_tiles() * kTileBf16; }
};

/// How the results along one side of the image reach into it: the kernel pixel k of result r meets
/// the place first + r step + k, and nothing but zeros outside of [0, extent).
struct Reach {
  int first;
  int step;
  int extent;

  /// The kernel pixels, of `size`, with which the results r to `last` meet the image: from
  /// begin(last) to end(r, size).
  int begin(int last) const { return std::max(0, -(first + last * step)); }
  int end(int r, int size) const { return std::min(size, extent - (first + r * step)); }
};

/// The rows of a window that lie in the image: no others are read.
inline PlaneWindow rows_inside(PlaneWindow window, int height) {
  if (window.step > 1) return window;
  const int begin = std::clamp(window.row, 0, height);
  const int end = std::clamp(window.row + window.rows, begin, height);
  window.row = begin;
  window.rows = end - begin;
  return window;
}

/// The kernel of the forward pass, in whose panel a pixel may have the channels of a whole kernel
/// column: few channels would leave most of a tile empty.
struct ForwardKernel {
  KernelTiles tiles;
  int fold;  ///< pixels of x in a pixel of the panel

  explicit ForwardKernel(const ConvShape& s) : tiles{s.kernel, s.kernel, s.in_channels}, fold(1) {
    const KernelTiles folded{1, s.kernel, s.in_channels * s.kernel};
    if (s.stride > 1 || 2 * folded.row_tiles() > tiles.rows * tiles.row_tiles()) return;
    tiles = folded;
    fold = s.kernel;
  }

  /// What the results [rows, columns] from a place on read of the image.
  PlaneWindow window(const ConvShape& s, int row, int rows, int column, int columns) const {
    // A kernel of one pixel reads every stride-th pixel only.
    const int step = s.kernel == 1 ? s.stride : 1;
    const auto extent = [&](int outputs, int kernel) {
      return (outputs - 1) * (s.stride / step) + kernel;
    };
    const PlaneWindow all{row * s.stride - s.padding, extent(rows, tiles.rows),
                          column * s.stride - s.padding, extent(columns, tiles.columns), step};
    return fold > 1 ? all : rows_inside(all, s.image_height());
  }
  /// Where in the window of the results from a row on the first one begins to read.
  int first_row(const ConvShape& s, const PlaneWindow& window, int row) const {
    return (row * s.stride - s.padding - window.row) / window.step;
  }
  /// From a row of the results on; a folded panel has the border above and below.
  Reach rows(const ConvShape& s, int row) const {
    if (fold > 1) return {0, 0, 1};
    return {row * s.stride - s.padding, s.stride, s.image_height()};
  }
  static Reach columns(const ConvShape& s, int column) {
    return {column * s.stride - s.padding, s.stride, s.image_width()};
  }
};

/// results[channel, line, column] = weights times what the kernel covers of a panel. Distances in
/// bfloat16.
struct PixelProduct {
  KernelTiles kernel;
  const Bf16* weights;  ///< for every 16 results kernel.weights()
  int results;
  const Bf16* panel;
  std::int64_t begin;      ///< of what the first result reads, perhaps before the panel
  std::int64_t panel_row;  ///< from one row of the kernel to the next
  std::int64_t next_line;
  std::int64_t next_column;
  int lines;
  int columns;
  Reach rows;  ///< of the lines
  Reach across;
};

/// Some results in C tiles, and where they belong: `channels` results of 16 samples, `columns`
/// pixels.
struct ResultTiles {
  static constexpr int kMostColumns = 4;
  static constexpr int kFloats = 2 * kMostColumns * kTileFloats;

  int channel;
  int channels;
  int line;
  int column;
  int columns;
  /// Blocks of two tiles of channels, side by side two columns or the last one.
  const float* tiles;

  const float* at(int c, int k) const {
    const int block = k / 2 * 2;
    const int block_columns = std::min(2, columns - block);
    return tiles + (2 * block + c / kTileRows * block_columns + k - block) * kTileFloats +
           c % kTileRows * kTileRows;
  }
};

/// For a store() that only writes.
inline constexpr auto kAskForNothing = [](const ResultTiles&) {};

/// Calls store(ResultTiles) for all results, piece by piece, and before it computes them
/// ask_for(the same), to let the lines come that store() reads. Tiles that meet nothing but the
/// border are left out: they would add zeros.
template <class Store, class AskFor>
void multiply_pixels(const TileUnit& unit, const PixelProduct& p, const Store& store,
                     const AskFor& ask_for) {
  alignas(64) float c[ResultTiles::kFloats];
  const std::int64_t weights = p.kernel.weights();
  const int tiles = count_tiles(p.results);
  const int channel_pairs = count_pairs(p.kernel.channels);
  TileWalk walk{};
  walk.a_row = weights;
  walk.b_column = p.next_column;
  walk.a_outer = std::int64_t{p.kernel.row_tiles()} * kTileBf16;
  walk.b_outer = p.panel_row;
  // Pixels run fastest: the weights of two tiles stay in cache.
  for (int tile = 0; tile < tiles; tile += 2) {
    const int rows = std::min(2, tiles - tile);
    for (int line = 0; line < p.lines; ++line) {
      const int first_row = p.rows.begin(line);
      walk.outer = std::max(0, p.rows.end(line, p.kernel.rows) - first_row);
      const Bf16* a = p.weights + tile * weights + first_row * walk.a_outer;
      const std::int64_t b = p.begin + line * p.next_line + first_row * p.panel_row;
      const int results = std::min(rows * kTileRows, p.results - tile * kTileRows);
      for (int first = 0; first < p.columns; first += ResultTiles::kMostColumns) {
        const ResultTiles piece{tile * kTileRows,
                                results,
                                line,
                                first,
                                std::min(ResultTiles::kMostColumns, p.columns - first),
                                c};
        ask_for(piece);
        for (int k = 0; k < piece.columns; k += 2) {
          const int column = first + k;
          const int columns = std::min(2, piece.columns - k);
          const int first_tile =
              p.across.begin(column + columns - 1) * channel_pairs / (kTileDepth / 2);
          const int end = p.across.end(column, p.kernel.columns) * channel_pairs;
          walk.inner = std::max(0, ceil_div(end, kTileDepth / 2) - first_tile);
          walk.last_pairs = end - (first_tile + walk.inner - 1) * (kTileDepth / 2);
          walk.a = a + std::int64_t{first_tile} * kTileBf16;
          walk.b = p.panel + (b + column * p.next_column + std::int64_t{first_tile} * kTileBf16);
          unit.multiply(walk, {.rows = rows, .columns = columns, .used_rows = results},
                        c + 2 * k * kTileFloats);
        }
        store(piece);
      }
    }
  }
}

}  // namespace quern::host
