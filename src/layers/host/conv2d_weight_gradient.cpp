// SPDX-License-Identifier: Apache-2.0
// A work item has the weights between some output channels and some input channels. It runs over
// the pixels of a block in parts whose panels of x and dy fit into the second-level cache, and
// keeps its sums, a vector of 16 lanes for each weight, in memory between two parts. Each lane is
// one chain over all pixels of the block, as if it had stayed in its register. Planes of few pixels
// are one part: no lanes lie in memory then, and an item may have more channels.
#include "layers/host/conv2d_weight_gradient.hpp"

#include <algorithm>

#include "layers/host/block_sums.hpp"
#include "layers/host/conv2d_few_rows.hpp"
#include "layers/host/conv2d_loops.hpp"
#include "layers/host/conv2d_panels.hpp"
#include "layers/host/scratch.hpp"

namespace quern::host {

namespace {

using simd::EvenSplit;
using simd::FixedSplit;
using simd::Vector;

// Of a work item: weights, and output channels, at most.
constexpr int kItemWeights = 4096;
constexpr int kItemChannels = 32;
constexpr int kItemChannelsOfProduct = 64;
// How many times more weights, and output channels, if a block is one part.
constexpr int kMoreWeights = 16;
constexpr int kMoreChannels = 4;
// Pixels of a part, unless a row has more: dy of a tile's channels is to stay in the first-level
// cache.
constexpr int kPartPixels = 64;

// Room for the sums of one tile.
constexpr int kTileWeights = (simd::kWeightTile + 15) / 16 * 16;

struct Channels {
  int begin;
  int count;
};

// Input channels of a tile of a product, where other kernels have columns.
constexpr int kProductColumns = simd::kWeightTile >= 25 ? 5 : 3;

// The tiles of an item's weights, in a fixed order.
struct Tiles {
  ConvShape shape;
  Channels out;
  Channels in;

  bool product() const { return shape.kernel == 1; }
  EvenSplit columns() const {
    return product() ? EvenSplit(in.count, kProductColumns) : EvenSplit(shape.kernel, kTapColumns);
  }
  EvenSplit channels() const {
    const EvenSplit split = columns();
    return {out.count, largest_channels(split.size(0))};
  }
  // Tiles between one of channels() and all of the input.
  int taps() const { return columns().pieces * (product() ? 1 : in.count * shape.kernel); }
  int count() const { return channels().pieces * taps(); }

  // Calls f<C, T>(number of the tile, o, i, kh, kw), channels from those of the item on. A tile has
  // C output channels by T kernel columns, or of a product T input channels.
  template <class F>
  void for_each(F&& f) const {
    const EvenSplit channel_split = channels();
    const EvenSplit column_split = columns();
    const int inputs = product() ? 1 : in.count;
    int tile = 0;
    for (int a = 0; a < channel_split.pieces; ++a) {
      const int o = channel_split.begin(a);
      for (int i = 0; i < inputs; ++i) {
        for (int kh = 0; kh < shape.kernel; ++kh) {
          for (int b = 0; b < column_split.pieces; ++b, ++tile) {
            const int column = column_split.begin(b);
            simd::with_constant<kTapColumns>(column_split.size(b), [&]<int T>() {
              simd::with_constant<largest_channels(T)>(channel_split.size(a), [&]<int C>() {
                f.template operator()<C, T>(tile, o, product() ? column : i, kh,
                                            product() ? 0 : column);
              });
            });
          }
        }
      }
    }
  }
};

// A part of the pixels of a group: rows and columns of y.
struct Part {
  int row;
  int rows;
  int column;
  int columns;
};

// How the pixels of a group are cut into parts.
struct Parts {
  EvenSplit rows;
  FixedSplit columns;

  explicit Parts(const ConvShape& s)
      : rows(s.out_height, std::max(1, kPartPixels / s.out_width)),
        columns(s.out_width, kPartPixels) {}

  int count() const { return rows.pieces * columns.pieces; }
  Part operator[](int part) const {
    const int r = part / columns.pieces;
    const int c = part % columns.pieces;
    return {rows.begin(r), rows.size(r), columns.begin(c), columns.size(c)};
  }
};

// A part in memory: x and dy of its group.
struct PartImages {
  Part at;
  const float* x;
  const float* dy;
};

// What a work item has in memory: sums of lanes, the open sums of blocks, and panels.
class Item {
 public:
  // one_part: all of a block.
  Item(const ConvShape& shape, int depth, Channels out, Channels in, bool one_part)
      : tiles_{shape, out, in},
        step_(shape.kernel == 1 ? shape.stride : 1),
        one_part_(one_part),
        blocks_(depth, weights()),
        lane_floats_((one_part ? kTileWeights : weights()) * kLanes) {}

  // Of scratch().
  std::int64_t scratch_floats() const {
    const ConvShape largest = part_shape(Parts(tiles_.shape)[0]);
    return lane_floats_ + blocks_.floats() + largest.in_group() + largest.out_group();
  }

  // Before all that follows.
  void take_scratch() {
    lanes_ = scratch(scratch_floats());
    blocks_.take(lanes_ + lane_floats_);
    x_panel_ = lanes_ + lane_floats_ + blocks_.floats();
    dy_panel_ = x_panel_ + part_shape(Parts(tiles_.shape)[0]).in_group();
  }

  // Beside the work the lines of the next part come into cache, if there is a next one.
  template <bool First>
  void add_part(const PartImages& images, bool last, const PartImages* next) {
    const ConvShape part = part_shape(images.at);
    const float* x = panel(x_planes(images.x), x_window(images.at), x_panel_);
    const float* dy = panel(dy_planes(images.dy), dy_window(images.at), dy_panel_);
    const std::int64_t plane = part.out(1, 0, 0);
    WindowAhead x_ahead;
    WindowAhead dy_ahead;
    if (next) {
      x_ahead = ahead(x_planes(next->x), x_window(next->at));
      dy_ahead = ahead(dy_planes(next->dy), dy_window(next->at));
    }
    const int rows_of_tile = (x_ahead.rows() + dy_ahead.rows()) / tiles_.count() + 1;
    float* sums = blocks_.next();
    tiles_.for_each([&]<int C, int T>(int tile, int o, int i, int kh, int kw) {
      for (int row = 0; row < rows_of_tile; ++row) {
        if (!x_ahead.fetch_row()) dy_ahead.fetch_row();
      }
      if (tiles_.product()) {
        simd::conv_weight_gradient_product<C, T, First>(
            x + i * plane, dy + o * plane, plane, part.out_height * part.out_width, lanes_of(tile));
      } else {
        simd::conv_weight_gradient_tile<C, T, First>(part, x, dy, 1, o, i, kh, kw, lanes_of(tile));
      }
      if (!last) return;
      simd::sum_lanes<C * T>(lanes_of(tile), sums + tile * kTileWeights);
      std::fill_n(sums + tile * kTileWeights + C * T, kTileWeights - C * T, 0.0f);
    });
  }

  // After the last part: adds the block's sums to those before it.
  void end_block(int merges) { blocks_.end_block(merges); }

  void store(const GradientSums& partial_sums, std::int64_t offset) const {
    const ConvShape& s = tiles_.shape;
    for (int p = 0; p < blocks_.count(); ++p) {
      float* gradient = partial_sums.data.data() + p * partial_sums.stride + offset;
      tiles_.for_each([&]<int C, int T>(int tile, int o, int i, int kh, int kw) {
        const float* sums = blocks_[p] + tile * kTileWeights;
        float* to = gradient + s.weight(tiles_.out.begin + o, tiles_.in.begin + i, kh, kw);
        for (int c = 0; c < C; ++c) std::copy_n(sums + c * T, T, to + s.weight(c, 0, 0, 0));
      });
    }
  }

 private:
  std::int64_t weights() const { return std::int64_t{kTileWeights} * tiles_.count(); }

  Vector* lanes_of(int tile) const {
    const std::int64_t first = one_part_ ? 0 : std::int64_t{tile} * kTileWeights * kLanes;
    return reinterpret_cast<Vector*>(lanes_ + first);
  }

  // The window in neighbouring lines: where it is, if it is all of the planes, else a copy.
  static const float* panel(const Planes& planes, const PlaneWindow& window, float* copy) {
    if (is_whole(planes, window)) return planes.data;
    copy_window(planes, window, copy);
    return copy;
  }
  static WindowAhead ahead(const Planes& planes, const PlaneWindow& window) {
    return is_whole(planes, window) ? WindowAhead() : WindowAhead(planes, window);
  }

  // Sizes of the panels of a part.
  ConvShape part_shape(const Part& at) const {
    const ConvShape& s = tiles_.shape;
    const int stride = s.stride / step_;
    return {tiles_.in.count,
            (at.rows - 1) * stride + s.kernel,
            (at.columns - 1) * stride + s.kernel,
            tiles_.out.count,
            at.rows,
            at.columns,
            s.kernel,
            stride};
  }

  // Of a group.
  Planes x_planes(const float* x) const {
    const ConvShape& s = tiles_.shape;
    return {x + s.image(tiles_.in.begin, 0, 0), tiles_.in.count, s.image_height(), s.image_width()};
  }
  Planes dy_planes(const float* dy) const {
    const ConvShape& s = tiles_.shape;
    return {dy + s.out(tiles_.out.begin, 0, 0), tiles_.out.count, s.out_height, s.out_width};
  }
  PlaneWindow x_window(const Part& at) const {
    const ConvShape& s = tiles_.shape;
    const ConvShape part = part_shape(at);
    return {at.row * s.stride - s.padding, part.in_height, at.column * s.stride - s.padding,
            part.in_width, step_};
  }
  static PlaneWindow dy_window(const Part& at) { return {at.row, at.rows, at.column, at.columns}; }

  Tiles tiles_;
  int step_;  // of the pixels that a kernel of one pixel reads
  bool one_part_;
  BlockSums blocks_;
  std::int64_t lane_floats_;
  float* lanes_ = nullptr;  // kLanes for each weight, or for those of one tile
  float* x_panel_ = nullptr;
  float* dy_panel_ = nullptr;
};

// How the channels are cut into items.
struct ItemGrid {
  EvenSplit out;
  EvenSplit in;

  ItemGrid(const ConvShape& s, int threads, bool one_part)
      : out(s.out_channels, (s.kernel == 1 ? kItemChannelsOfProduct : kItemChannels) *
                                (one_part ? kMoreChannels : 1)),
        in(s.in_channels,
           std::max(1, static_cast<int>(kItemWeights * (one_part ? kMoreWeights : 1) /
                                        (std::int64_t{s.kernel} * s.kernel * out.size(0))))) {
    // All threads shall find items.
    int largest = in.size(0);
    while (threads > 1 && largest > 1 && count() < std::int64_t{4} * threads) {
      in = EvenSplit(s.in_channels, largest /= 2);
    }
    largest = out.size(0);
    while (threads > 1 && largest > 8 && count() < std::int64_t{4} * threads) {
      out = EvenSplit(s.out_channels, largest /= 2);
    }
  }
  std::int64_t count() const { return std::int64_t{out.pieces} * in.pieces; }
};

}  // namespace

std::int64_t conv2d_weight_gradient_scratch(int threads, const ConvShape& shape,
                                            const BatchLimit& most) {
  const int depth = most_depth(std::min(most.blocks(), most.rows / kLanes));
  const auto floats = [&](bool one_part) {
    const ItemGrid grid(shape, threads, one_part);
    return Item(shape, depth, {0, grid.out.size(0)}, {0, grid.in.size(0)}, one_part)
        .scratch_floats();
  };
  // Blocks may have one group of samples or several.
  const std::int64_t several = floats(false);
  return Parts(shape).count() == 1 ? std::max(several, floats(true)) : several;
}

void conv2d_weight_gradient(const ExecSpace& exec, const ConvShape& given,
                            const BlockSchedule& schedule, const float* x, const float* dy,
                            const GradientSums& partial_sums, std::int64_t offset,
                            const FloatView&) {
  if (has_few_samples(given, schedule)) {
    conv2d_few_weight_gradient(exec, given, schedule, x, dy, partial_sums, offset);
    return;
  }
  const ConvShape shape = as_product(given);
  const int groups = schedule.block_rows / kLanes;
  const Parts parts(shape);
  const int parts_of_block = groups * parts.count();
  const bool one_part = parts_of_block == 1;
  const ItemGrid grid(shape, exec.concurrency(), one_part);
  Kokkos::parallel_for(
      "quern::layers::conv2d_weight_gradient", RangePolicy(exec, 0, grid.count()),
      [=](std::int64_t number) {
        const int a = static_cast<int>(number / grid.in.pieces);
        const int b = static_cast<int>(number % grid.in.pieces);
        Item item(shape, schedule.depth, {grid.out.begin(a), grid.out.size(a)},
                  {grid.in.begin(b), grid.in.size(b)}, one_part);
        item.take_scratch();
        const auto part = [&](std::int64_t n) {
          const std::int64_t group = n / parts.count();
          return PartImages{parts[static_cast<int>(n % parts.count())],
                            x + group * shape.image_group(), dy + group * shape.out_group()};
        };
        const std::int64_t all = std::int64_t{schedule.num_blocks} * parts_of_block;
        for (std::int64_t n = 0; n < all; ++n) {
          const bool last = (n + 1) % parts_of_block == 0;
          const PartImages next = part(n + 1);
          const PartImages* ahead = n + 1 < all ? &next : nullptr;
          if (n % parts_of_block == 0) {
            item.add_part<true>(part(n), last, ahead);
          } else {
            item.add_part<false>(part(n), last, ahead);
          }
          if (last) item.end_block(schedule.host_merges(static_cast<int>(n / parts_of_block)));
        }
        item.store(partial_sums, offset);
      });
}

}  // namespace quern::host
