// SPDX-License-Identifier: Apache-2.0
// A work item of the weight gradient on tiles of bfloat16: the weights between some output channels
// and some input channels, of some kernel rows. One step of a tile adds 16 samples at two
// neighbouring outputs: 32 values of k. An item runs over the outputs of a block in parts whose
// panels of x and dy fit into the second-level cache; each weight is one chain over all of them,
// group by group, row by row.
#pragma once

#include <algorithm>
#include <type_traits>

#include "layers/host/block_sums.hpp"
#include "layers/host/conv2d_bf16_panels.hpp"
#include "layers/host/scratch.hpp"
#include "linalg/block_schedule.hpp"
#include "linalg/host/simd_transpose.hpp"

namespace quern::host {

/// Some neighbours of the channels, or of the rows of a kernel.
struct Range {
  int begin;
  int count;
};

/// Outputs of a group: rows and columns.
struct OutputPart {
  int row;
  int rows;
  int column;
  int columns;

  int pairs() const { return count_pairs(columns); }
};

/// dy of a convolution whose outputs are in memory, as floats or bfloat16.
template <class T>
struct OutputGradient {
  ConvShape shape;
  const T* dy;

  /// Indexed by the column.
  PixelRow<T> row(std::int64_t group, int o, int oh) const {
    return {dy + group * shape.out_group() + shape.out(o, oh, 0), shape.out_width};
  }
};

/// The weights of an item as C tiles: for each kernel row, rows (run of input channels, kernel
/// column, channel of the run), the last running fastest, and columns of output channels. In memory
/// blocks of 2 x 2 tiles or less.
struct WeightTiles {
  ConvShape shape;
  Range out;
  Range in;
  Range kernel_rows;

  /// Input channels that lie side by side in each pixel of a panel: where it can be as many as a
  /// tile has rows, so that the tiles of neighbouring pixels follow each other.
  int run() const { return in.count % kTileRows == 0 ? kTileRows : in.count; }
  int runs() const { return in.count / run(); }
  int tiles_of_run() const { return count_tiles(shape.kernel * run()); }
  int row_tiles() const { return runs() * tiles_of_run(); }
  int column_tiles() const { return count_tiles(out.count); }
  std::int64_t floats() const {
    return std::int64_t{kernel_rows.count} * row_tiles() * column_tiles() * kTileFloats;
  }

  /// Calls f(kernel row of the item, first tile of rows, first tile of columns, TileBlock, place in
  /// memory) for each block.
  template <class F>
  void for_each(const F& f) const {
    std::int64_t place = 0;
    for (int column = 0; column < column_tiles(); column += 2) {
      for (int kh = 0; kh < kernel_rows.count; ++kh) {
        for (int row = 0; row < row_tiles(); row += 2) {
          const TileBlock block{.rows = std::min(2, row_tiles() - row),
                                .columns = std::min(2, column_tiles() - column),
                                .used_rows = shape.kernel * in.count - row * kTileRows};
          f(kh, row, column, block, place);
          place += std::int64_t{block.rows} * block.columns * kTileFloats;
        }
      }
    }
  }
};

/// What a part reads of x, as pixel pairs. A kernel of one pixel or one row leaves some unread.
struct PixelPairWindow {
  PlaneWindow window;
  int column_step;

  PixelPairWindow(const WeightTiles& tiles, const OutputPart& at) {
    const ConvShape& s = tiles.shape;
    const int row_step = tiles.kernel_rows.count == 1 ? s.stride : 1;
    column_step = s.kernel == 1 ? 2 * s.stride : 1;
    window = {at.row * s.stride - s.padding + tiles.kernel_rows.begin,
              (at.rows - 1) * (s.stride / row_step) + tiles.kernel_rows.count,
              at.column * s.stride - s.padding,
              (at.pairs() - 1) * (2 * s.stride / column_step) + s.kernel, row_step};
  }
};

/// Floats of the gradient's panel.
inline std::int64_t gradient_tile_floats(const WeightTiles& tiles, const OutputPart& at) {
  return floats_of(std::int64_t{at.rows} * at.pairs() * tiles.column_tiles() * kTileBf16);
}

inline std::int64_t gradient_panel_floats(const WeightTiles& tiles, const OutputPart& at) {
  return gradient_tile_floats(tiles, at) +
         tiles.runs() * pixel_pair_floats(PixelPairWindow(tiles, at).window, tiles.run());
}

/// dy of a part as operand B: [tiles of output channels, rows, pairs of columns], zero beyond the
/// channels and columns there are. Where there are sums, 16 lanes for each channel, it is added to
/// them, in the order of its pixels: only where it is floats.
template <class Gradient>
void pack_gradient_pairs(const Gradient& dy, std::int64_t group, const WeightTiles& tiles,
                         const OutputPart& at, Bf16* packed, float* sums) {
  using Row = decltype(dy.row(0, 0, 0));
  using Samples = std::decay_t<decltype(Row{}[0])>;
  const int column_tiles = tiles.column_tiles();
  alignas(64) float block[kLanes * kLanes];
  for (int tile = 0; tile < column_tiles; ++tile) {
    const int first_channel = tile * kTileRows;
    const int channels = std::min(kTileRows, tiles.out.count - first_channel);
    std::fill(block + channels * kLanes, std::end(block), 0.0f);
    for (int r = 0; r < at.rows; ++r) {
      Row rows[kTileRows];
      for (int c = 0; c < channels; ++c)
        rows[c] = dy.row(group, tiles.out.begin + first_channel + c, at.row + r);
      for (int pair = 0; pair < at.pairs(); ++pair) {
        const int w = at.column + 2 * pair;
        const bool is_last = w + 1 == at.column + at.columns;
        for (int c = 0; c < channels; ++c) {
          const Samples first = rows[c][w];
          const Samples second = is_last ? Samples{} : rows[c][w + 1];
          simd::store(block + c * kLanes, pairs_of(first, second));
          if constexpr (std::is_same_v<Samples, simd::Vector>) {
            if (!sums) continue;
            float* sum = sums + (first_channel + c) * kLanes;
            simd::Vector total = simd::load(sum) + first;
            if (!is_last) total += second;
            simd::store(sum, total);
          }
        }
        simd::transpose_tile(block, kLanes, reinterpret_cast<float*>(packed), kLanes);
        packed += kTileBf16;
      }
    }
  }
}

/// Sums of blocks by the tree, and panels.
class GradientItem {
 public:
  /// with_bias: sums dy, too.
  /// scratch_floats() floats for it are at `memory`.
  GradientItem(const WeightTiles& tiles, int depth, const OutputPart& largest, bool with_bias,
               float* memory)
      : tiles_(tiles),
        with_bias_(with_bias),
        bias_(tiles.floats()),
        blocks_(depth, block_floats(tiles, with_bias)) {
    const std::int64_t lanes = with_bias ? std::int64_t{kLanes} * tiles.out.count : 0;
    blocks_.take(memory);
    lanes_ = memory + blocks_.floats();
    gradient_ = reinterpret_cast<Bf16*>(lanes_ + lanes);
    pixels_ = gradient_ + 2 * gradient_tile_floats(tiles, largest);
  }

  static std::int64_t scratch_floats(const WeightTiles& tiles, int depth, const OutputPart& largest,
                                     bool with_bias) {
    const std::int64_t lanes = with_bias ? std::int64_t{kLanes} * tiles.out.count : 0;
    return BlockSums(depth, block_floats(tiles, with_bias)).floats() + lanes +
           gradient_panel_floats(tiles, largest);
  }

  /// first: of the block. The last of the block adds the block's sums to those
  /// before them, `merges` times, while it has them in the first-level cache.
  template <class Gradient>
  void add_part(const float* x, const Gradient& dy, std::int64_t group, const OutputPart& at,
                const TileUnit& unit, bool first, int merges) {
    const ConvShape& s = tiles_.shape;
    if (with_bias_ && first) std::fill_n(lanes_, kLanes * tiles_.out.count, 0.0f);
    pack_gradient_pairs(dy, group, tiles_, at, gradient_, with_bias_ ? lanes_ : nullptr);
    const PixelPairWindow w(tiles_, at);
    const int run = tiles_.run();
    const std::int64_t run_panel = 2 * pixel_pair_floats(w.window, run);
    with_values(x, s.rounded_x, [&](const auto* values) {
      pack_pixel_pairs(PlanesOf{values + group * s.image_group() + s.image(tiles_.in.begin, 0, 0),
                                tiles_.in.count, s.image_height(), s.image_width()},
                       run, w.window, w.column_step, s.stride, pixels_);
    });
    const std::int64_t pixel = std::int64_t{run} * kPairLine;
    const std::int64_t row = w.window.columns * pixel;
    const auto place_of_tile = [&](int tile) {
      return tile / tiles_.tiles_of_run() * run_panel +
             std::int64_t{tile % tiles_.tiles_of_run()} * kTileBf16;
    };
    TileWalk walk{};
    walk.inner = at.pairs();
    walk.a_inner = 2 * s.stride / w.column_step * pixel;
    walk.outer = at.rows;
    walk.a_outer = s.stride / w.window.step * row;
    walk.b_outer = std::int64_t{walk.inner} * kTileBf16;
    walk.b_column = walk.outer * walk.b_outer;
    tiles_.for_each(
        [&](int kh, int row_tile, int column_tile, TileBlock block, std::int64_t place) {
          walk.a = pixels_ + kh * row + place_of_tile(row_tile);
          walk.a_row = place_of_tile(row_tile + 1) - place_of_tile(row_tile);
          walk.b = gradient_ + column_tile * walk.b_column;
          block.add = !first;
          float* sums = blocks_.next() + place;
          if (merges == 0)
            unit.multiply(walk, block, sums);
          else
            multiply_and_merge(unit, walk, block, sums, place, merges);
        });
  }

  /// After the block's last part, with the same `merges`.
  void end_block(int merges) {
    if (with_bias_) {
      float* bias = blocks_.next() + bias_;
      std::fill_n(bias, round_up_to_lanes(tiles_.out.count), 0.0f);
      for (int o = 0; o < tiles_.out.count; ++o)
        bias[o] = simd::sum_lanes(simd::load(lanes_ + kLanes * o));
    }
    blocks_.end_block(merges, bias_);
  }

  /// To PyTorch's order.
  void store(const GradientSums& partial_sums, std::int64_t offset,
             std::int64_t bias_offset) const {
    const ConvShape& s = tiles_.shape;
    for (int p = 0; p < blocks_.count(); ++p) {
      if (with_bias_) {
        std::copy_n(
            blocks_[p] + bias_, tiles_.out.count,
            partial_sums.data.data() + p * partial_sums.stride + bias_offset + tiles_.out.begin);
      }
      float* gradient = partial_sums.data.data() + p * partial_sums.stride + offset;
      tiles_.for_each([&](int kh, int row_tile, int column_tile, TileBlock block,
                          std::int64_t place) {
        for (int tile = 0; tile < block.rows * block.columns; ++tile) {
          store_tile(
              blocks_[p] + place + tile * kTileFloats,
              (row_tile + tile / block.columns) * kTileRows,
              (column_tile + tile % block.columns) * kTileRows, kh,
              gradient + s.weight(tiles_.out.begin, tiles_.in.begin, tiles_.kernel_rows.begin, 0));
        }
      });
    }
  }

 private:
  // Of a block: the weights' sums, then the bias's.
  static std::int64_t block_floats(const WeightTiles& tiles, bool with_bias) {
    return tiles.floats() + (with_bias ? round_up_to_lanes(tiles.out.count) : 0);
  }

  void multiply_and_merge(const TileUnit& unit, const TileWalk& walk, const TileBlock& block,
                          const float* sums, std::int64_t place, int merges) {
    alignas(64) float sum[4 * kTileFloats];
    const int floats = block.rows * block.columns * kTileFloats;
    if (block.add) std::copy_n(sums, floats, sum);
    unit.multiply(walk, block, sum);
    float* to = blocks_.left(merges - 1) + place;
    for (int i = 0; i < floats; i += kLanes) {
      simd::Vector total = simd::load(sum + i);
      for (int merge = 0; merge < merges; ++merge)
        total = simd::load(blocks_.left(merge) + place + i) + total;
      simd::store(to + i, total);
    }
  }

  void store_tile(const float* tile, int row, int column, int kh, float* gradient) const {
    const ConvShape& s = tiles_.shape;
    const int rows = std::min(kTileRows, s.kernel * tiles_.in.count - row);
    const int run = tiles_.run();
    const int columns = std::min(kTileRows, tiles_.out.count - column);
    std::int64_t places[kTileRows];
    for (int r = 0; r < rows; ++r) {
      const int in_run = (row + r) % (s.kernel * run);
      const int first = (row + r) / (s.kernel * run) * run;
      places[r] = s.weight(0, first + in_run % run, kh, in_run / run);
    }
    for (int o = 0; o < columns; ++o) {
      float* to = gradient + s.weight(column + o, 0, 0, 0);
      for (int r = 0; r < rows; ++r) to[places[r]] = tile[r * kTileRows + o];
    }
  }

  WeightTiles tiles_;
  bool with_bias_;
  std::int64_t bias_;  // its place among a block's sums
  BlockSums blocks_;
  float* lanes_;  // sums of dy of the block
  Bf16* gradient_;
  Bf16* pixels_;
};

}  // namespace quern::host
