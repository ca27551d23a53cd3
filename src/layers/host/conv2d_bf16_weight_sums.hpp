// SPDX-License-Identifier: Apache-2.0
// The weight gradient on tiles of bfloat16, whatever dy is made from: how it is cut into items, and
// items into parts.
#pragma once

#include <string>

#include "base/ceil_div.hpp"
#include "layers/host/conv2d_bf16_gradient_item.hpp"

namespace quern::host {

/// How the weights are cut into items, and the outputs of a group into parts.
class WeightGrid {
 public:
  WeightGrid(const ConvShape& s, int threads)
      : shape_(s), channels_(cut_channels(s)), rows_(s.kernel, s.kernel) {
    // All threads shall find items.
    const auto too_few = [&] { return threads > 1 && count() < 2 * threads; };
    while (too_few() && channels_.in.size(0) > kTileRows) {
      channels_.in = simd::FixedSplit(s.in_channels, whole_tiles(channels_.in.size(0) / 2));
    }
    if (too_few() && channels_.out.largest > 2 * kTileRows)
      channels_.out = simd::FixedSplit(s.out_channels, 2 * kTileRows);
    while (too_few() && rows_.size(0) > 1) rows_ = simd::EvenSplit(s.kernel, rows_.size(0) / 2);
    if (too_few()) channels_.out = simd::FixedSplit(s.out_channels, kTileRows);
    while (parts_columns_ < s.out_width && fits(1, parts_columns_ + 2)) parts_columns_ += 2;
    parts_columns_ = std::min(parts_columns_, s.out_width);
    if (parts_columns_ < s.out_width) return;
    while (parts_rows_ < s.out_height && fits(parts_rows_ + 1, parts_columns_)) ++parts_rows_;
  }

  std::int64_t count() const {
    return std::int64_t{channels_.out.pieces} * channels_.in.pieces * rows_.pieces;
  }
  WeightTiles operator[](std::int64_t item) const {
    const int row = static_cast<int>(item % rows_.pieces);
    item /= rows_.pieces;
    const int i = static_cast<int>(item % channels_.in.pieces);
    const int o = static_cast<int>(item / channels_.in.pieces);
    return {shape_,
            {channels_.out.begin(o), channels_.out.size(o)},
            {channels_.in.begin(i), channels_.in.size(i)},
            {rows_.begin(row), rows_.size(row)}};
  }

  OutputPart largest_part() const { return {0, parts_rows_, 0, parts_columns_}; }
  /// Calls f(OutputPart, is it the last one?) for all parts of a group.
  template <class F>
  void for_each_part(const F& f) const {
    const simd::FixedSplit rows(shape_.out_height, parts_rows_);
    const simd::FixedSplit columns(shape_.out_width, parts_columns_);
    for (int r = 0; r < rows.pieces; ++r) {
      for (int c = 0; c < columns.pieces; ++c) {
        f(OutputPart{rows.begin(r), rows.size(r), columns.begin(c), columns.size(c)},
          r == rows.pieces - 1 && c == columns.pieces - 1);
      }
    }
  }

 private:
  // Of an item: weights, if it has all kernel rows, and output channels.
  static constexpr int kItemWeights = 64 * 1024;
  static constexpr int kMostChannels = 16 * kTileRows;

  struct Channels {
    simd::FixedSplit out;
    simd::FixedSplit in;

    // Of a pixel that all items together pack.
    std::int64_t packed() const {
      return std::int64_t{out.pieces} * in.extent + std::int64_t{in.pieces} * out.extent;
    }
  };

  static int whole_tiles(int channels) { return count_tiles(channels) * kTileRows; }

  // So that the fewest values are packed.
  static Channels cut_channels(const ConvShape& s) {
    const int channel_pairs = kItemWeights / (s.kernel * s.kernel);
    const auto cut = [&](int out) {
      const int most = std::max(kTileRows, channel_pairs / out / kTileRows * kTileRows);
      const int pieces = ceil_div(s.in_channels, most);
      return Channels{{s.out_channels, out},
                      {s.in_channels, whole_tiles(ceil_div(s.in_channels, pieces))}};
    };
    Channels best = cut(kTileRows);
    const int most =
        std::min({kMostChannels, whole_tiles(s.out_channels), channel_pairs / kTileRows});
    for (int out = 2 * kTileRows; out <= most; out += kTileRows) {
      const Channels channels = cut(out);
      if (channels.packed() < best.packed()) best = channels;
    }
    return best;
  }

  // Floats of a part's panels: all of it stays in the second-level cache. Kernels of several pixels
  // read some of them twice where parts meet.
  std::int64_t part_floats() const { return shape_.kernel == 1 ? kPanelFloats : 2 * kPanelFloats; }

  bool fits(int rows, int columns) const {
    return gradient_panel_floats((*this)[0], {0, rows, 0, columns}) <= part_floats();
  }

  ConvShape shape_;
  Channels channels_;
  simd::EvenSplit rows_;
  int parts_rows_ = 1;
  int parts_columns_ = 2;
};

/// Floats of scratch() that sum_weight_gradient() needs.
inline std::int64_t weight_gradient_scratch(int threads, const ConvShape& shape,
                                            const BatchLimit& most, bool with_bias) {
  const WeightGrid grid(shape, threads);
  const int depth = most_depth(std::min(most.blocks(), most.rows / kLanes));
  return GradientItem::scratch_floats(grid[0], depth, grid.largest_part(), with_bias);
}

/// As Conv2dKernels::weight_gradient. dy.row(group, o, oh)[ow] is the gradient of 16 samples.
/// With a bias_offset, 0 or more, the bias gradient as well.
template <OperandPrecision kPrecision, class Gradient>
void sum_weight_gradient(const ExecSpace& exec, const std::string& label, const ConvShape& shape,
                         const BlockSchedule& schedule, const float* x, const Gradient& dy,
                         const GradientSums& partial_sums, std::int64_t offset,
                         std::int64_t bias_offset = -1) {
  const TileUnit* unit = &tile_unit(kPrecision);
  const WeightGrid grid(shape, exec.concurrency());
  const int groups = schedule.block_rows / kLanes;
  Kokkos::parallel_for(label, RangePolicy(exec, 0, grid.count()), [=](std::int64_t number) {
    const WeightTiles tiles = grid[number];
    const bool with_bias = bias_offset >= 0 && tiles.in.begin == 0 && tiles.kernel_rows.begin == 0;
    const OutputPart largest = grid.largest_part();
    float* memory =
        scratch(GradientItem::scratch_floats(tiles, schedule.depth, largest, with_bias));
    GradientItem item(tiles, schedule.depth, largest, with_bias, memory);
    for (int block = 0; block < schedule.num_blocks; ++block) {
      const int merges = schedule.host_merges(block);
      for (int g = 0; g < groups; ++g) {
        const std::int64_t group = std::int64_t{block} * groups + g;
        bool first = g == 0;
        grid.for_each_part([&](const OutputPart& part, bool last) {
          last = last && g == groups - 1;
          item.add_part(x, dy, group, part, *unit, first, last ? merges : 0);
          first = false;
        });
      }
      item.end_block(merges);
    }
    item.store(partial_sums, offset, bias_offset);
  });
}

}  // namespace quern::host
