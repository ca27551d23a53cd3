// SPDX-License-Identifier: Apache-2.0
// Weight gradient of a convolution as products of rounded operands
// (linalg/device/tensor_product.hpp). Rows of the result are output channels, columns are taps, k
// runs over pixels and the 16 samples of a lane group.
//
// A team computes a tile of one slice of a micro-block, a range of its pixels. Slices are added in
// order and blocks by the block tree, so that the sum does not depend on the number of ranks.
#pragma once

#include "base/ceil_div.hpp"
#include "layers/conv_shape.hpp"
#include "linalg/device/rounded_panel.hpp"
#include "linalg/device/tensor_product.hpp"

namespace quern::device {

/// Pixels in a panel.
inline constexpr int kPanelPixels = kPanelDepth / kLanes;

/// How the pixels of a micro-block are cut. It depends on the shape and the block, never on how
/// many blocks a rank has.
struct BlockSlices {
  int groups;  ///< lane groups of a block
  int pixels;  ///< of all groups of a block
  int slices;
  int slice_pixels;
};

/// What a team does: the tile at (first_row, first_tap) of the pixels [pixel, end) of the block
/// that begins at lane group `group`.
struct SliceWork {
  int first_row;
  int first_tap;
  int slice;  ///< counted through all blocks
  int group;
  int pixel;
  int end;
  int panels;
};

/// One side: planes of x or dy, of which a line is the one that `offset` says.
struct PlaneLanes {
  struct Column {
    const float* data;  ///< of the lanes in the block's first group
    int pixel;          ///< of the first panel
    int end;
  };
  using Place = const float*;
  const float* data;
  std::int64_t group_floats;
  int plane_width;
  int step;  ///< pixels of the plane from one output to the next
  int out_height;
  int out_width;

  KOKKOS_INLINE_FUNCTION Column column(const SliceWork& work, int k) const {
    return {data + work.group * group_floats + k % kLanes, work.pixel + k / kLanes, work.end};
  }
  KOKKOS_INLINE_FUNCTION Place place(const Column& column, int panel) const {
    const int pixel = column.pixel + panel * kPanelPixels;
    if (pixel >= column.end) return nullptr;
    const int w = pixel % out_width;
    const int h = pixel / out_width % out_height;
    const int group = pixel / out_width / out_height;
    return column.data + group * group_floats +
           std::int64_t{kLanes} * (h * step * plane_width + w * step);
  }
  KOKKOS_INLINE_FUNCTION Four read(Place place, int offset) const {
    return read_four(place && offset >= 0 ? place + offset : nullptr);
  }
};

/// dy: lines are output channels.
struct ChannelLanes : PlaneLanes {
  int channels;
  int plane;  ///< floats from one channel to the next

  KOKKOS_INLINE_FUNCTION int offset(const SliceWork& work, int row) const {
    const int o = work.first_row + row;
    return o < channels ? o * plane : -1;
  }
};

/// x: lines are taps.
struct TapLanes : PlaneLanes {
  ConvShape shape;

  KOKKOS_INLINE_FUNCTION int offset(const SliceWork& work, int line) const {
    const int tap = work.first_tap + line;
    if (tap >= shape.taps()) return -1;
    const int in_plane = tap % (shape.kernel * shape.kernel);
    return static_cast<int>(shape.in(tap / (shape.kernel * shape.kernel), in_plane / shape.kernel,
                                     in_plane % shape.kernel));
  }
};

/// sums[slice] [O, taps]: the weight gradient of each slice of the blocks from first_group on.
template <int RowTiles>
struct WeightGradientProblem {
  static constexpr int kRowTiles = RowTiles;
  static constexpr bool kADepthFirst = true;
  static constexpr bool kBDepthFirst = true;
  using A = ChannelLanes;
  using B = TapLanes;
  struct Target {
    float* sums;  ///< of the slice
    int tap;      ///< of the first column
  };
  A a;
  B b;
  BlockSlices cut;
  int first_block;
  int num_blocks;
  float* sums;

  KOKKOS_INLINE_FUNCTION int row_tiles() const { return ceil_div(a.channels, 16 * RowTiles); }
  KOKKOS_INLINE_FUNCTION int tap_tiles() const { return ceil_div(b.shape.taps(), kTeamColumns); }
  std::int64_t num_teams() const {
    return std::int64_t{num_blocks} * cut.slices * row_tiles() * tap_tiles();
  }

  KOKKOS_INLINE_FUNCTION SliceWork work(int team) const {
    const int row = team % row_tiles();
    const int tap = team / row_tiles() % tap_tiles();
    const int slice = team / row_tiles() / tap_tiles();
    const int begin = slice % cut.slices * cut.slice_pixels;
    const int end = Kokkos::min(begin + cut.slice_pixels, cut.pixels);
    return {row * 16 * RowTiles,
            tap * kTeamColumns,
            slice,
            (first_block + slice / cut.slices) * cut.groups,
            begin,
            end,
            ceil_div(end - begin, kPanelPixels)};
  }
  KOKKOS_INLINE_FUNCTION int next(const SliceWork&, int panel) const { return panel; }
  KOKKOS_INLINE_FUNCTION Target target(const SliceWork& work, int column_tile) const {
    return {sums + std::int64_t{work.slice} * a.channels * b.shape.taps(),
            work.first_tap + 16 * column_tile};
  }
  KOKKOS_INLINE_FUNCTION void store(const SliceWork& work, const Target& target, int row,
                                    int column, float sum) const {
    const int o = work.first_row + row;
    const int tap = target.tap + column;
    if (o < a.channels && tap < b.shape.taps())
      target.sums[std::int64_t{o} * b.shape.taps() + tap] = sum;
  }
};

}  // namespace quern::device
