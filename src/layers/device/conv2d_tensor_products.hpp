// SPDX-License-Identifier: Apache-2.0
// Forward pass and input gradient of a convolution as products of rounded operands
// (linalg/device/tensor_product.hpp). Rows of the result are channels; 16 columns are one pixel of
// the 16 samples of a lane group, which are neighbours in memory on both sides of the convolution.
#pragma once

#include "base/ceil_div.hpp"
#include "layers/conv_shape.hpp"
#include "linalg/device/rounded_panel.hpp"
#include "linalg/device/tensor_product.hpp"

namespace quern::device {

/// Lines of packed weights are whole panels, and there are whole teams of them.
KOKKOS_INLINE_FUNCTION constexpr int whole_panels(int depth) {
  return ceil_div(depth, kPanelDepth);
}
KOKKOS_INLINE_FUNCTION constexpr int padded_rows(int channels) {
  return (channels + 63) / 64 * 64;
}

/// Column tiles of a team.
inline constexpr int kTeamTiles = kTeamColumns / kLanes;

/// What a team does: rows from first_row on of the column tiles from first_tile on.
struct PixelWork {
  int first_row;
  int first_tile;
  int panels;
};

/// The packed weights: rows of whole panels.
struct PackedWeights {
  using Column = const float*;
  using Place = const float*;
  const float* data;  ///< [padded_rows(channels), stride]
  int stride;

  KOKKOS_INLINE_FUNCTION Column column(const PixelWork& work, int k) const {
    return data + std::int64_t{work.first_row} * stride + k;
  }
  KOKKOS_INLINE_FUNCTION int offset(const PixelWork&, int row) const { return row; }
  KOKKOS_INLINE_FUNCTION Place place(Column column, int panel) const {
    return column + panel * kPanelDepth;
  }
  KOKKOS_INLINE_FUNCTION Four read(Place place, int row) const {
    return read_four(place + std::int64_t{row} * stride);
  }
};

/// Column tiles of a lane group: one for each pixel, and more up to whole teams. So what a team
/// computes does not depend on how many groups there are.
struct GroupTiles {
  int height;
  int width;

  KOKKOS_INLINE_FUNCTION int teams() const { return ceil_div(height * width, kTeamTiles); }
};

/// A column tile as a pixel of a lane group; h is -1 where there is no such pixel.
struct LanePixel {
  int group;
  int h;
  int w;

  KOKKOS_INLINE_FUNCTION LanePixel(int tile, const GroupTiles& tiles) {
    const int tiles_of_group = tiles.teams() * kTeamTiles;
    const int pixel = tile % tiles_of_group;
    group = tile / tiles_of_group;
    h = pixel < tiles.height * tiles.width ? pixel / tiles.width : -1;
    w = pixel % tiles.width;
  }
};

/// Columns of x for the pixels of y: line k of a panel is a tap.
struct ForwardPatches {
  using Column = const float*;  // the corner of the pixel's window, or null
  struct Place {
    const float* corner;
    const int* offset;  ///< of the taps of this panel
    int taps;           ///< from this panel on
  };
  ConvShape shape;
  const float* x;
  const int* tap_offset;  ///< [taps]: from the corner of a window to the tap

  KOKKOS_INLINE_FUNCTION GroupTiles tiles() const { return {shape.out_height, shape.out_width}; }

  KOKKOS_INLINE_FUNCTION Column column(const PixelWork& work, int column) const {
    const LanePixel at(work.first_tile + column / kLanes, tiles());
    if (at.h < 0) return nullptr;
    return x + at.group * shape.in_group() + shape.in(0, at.h * shape.stride, at.w * shape.stride) +
           column % kLanes;
  }
  KOKKOS_INLINE_FUNCTION int offset(const PixelWork&, int k) const { return k; }
  KOKKOS_INLINE_FUNCTION Place place(Column corner, int panel) const {
    return {corner, tap_offset + panel * kPanelDepth, shape.taps() - panel * kPanelDepth};
  }
  KOKKOS_INLINE_FUNCTION Four read(const Place& place, int k) const {
    return read_four(place.corner && k < place.taps ? place.corner + place.offset[k] : nullptr);
  }
};

/// Columns of dy for the pixels of x: the panels of a tap (kh, kw) are the output channels.
struct GradientPatches {
  struct Column {
    const float* data;  ///< the sample's first float of y
    int h;              ///< the pixel of x; no output meets a negative one
    int w;
  };
  struct Place {
    const float* data;  ///< the first channel of this panel, or null
    int channels;       ///< from this panel on
  };
  ConvShape shape;
  const float* dy;

  KOKKOS_INLINE_FUNCTION GroupTiles tiles() const { return {shape.in_height, shape.in_width}; }

  KOKKOS_INLINE_FUNCTION int panels_of_tap() const { return whole_panels(shape.out_channels); }
  KOKKOS_INLINE_FUNCTION std::int64_t plane() const {
    return std::int64_t{kLanes} * shape.out_height * shape.out_width;
  }

  /// The coordinate of y that meets `coordinate` of x in the kernel's k, or -1.
  KOKKOS_INLINE_FUNCTION int meets(int coordinate, int k, int size) const {
    int scaled = coordinate - k;
    if (scaled < 0) return -1;
    if (shape.stride > 1) {
      if (scaled % shape.stride != 0) return -1;
      scaled /= shape.stride;
    }
    return scaled < size ? scaled : -1;
  }
  /// Where the pixel of y that `column` meets in tap `tap` is in the first channel, or null.
  KOKKOS_INLINE_FUNCTION const float* pixel(const Column& column, int tap) const {
    const int oh = meets(column.h, tap / shape.kernel, shape.out_height);
    const int ow = meets(column.w, tap % shape.kernel, shape.out_width);
    return oh < 0 || ow < 0 ? nullptr : column.data + shape.out(0, oh, ow);
  }

  KOKKOS_INLINE_FUNCTION Column column(const PixelWork& work, int column) const {
    const LanePixel at(work.first_tile + column / kLanes, tiles());
    return {dy + at.group * shape.out_group() + column % kLanes, at.h, at.w};
  }
  KOKKOS_INLINE_FUNCTION int offset(const PixelWork&, int k) const { return k; }
  KOKKOS_INLINE_FUNCTION Place place(const Column& column, int panel) const {
    const float* first = pixel(column, panel / panels_of_tap());
    const int o = panel % panels_of_tap() * kPanelDepth;
    return {first ? first + o * plane() : nullptr, shape.out_channels - o};
  }
  KOKKOS_INLINE_FUNCTION Four read(const Place& place, int k) const {
    return read_four(place.data && k < place.channels ? place.data + k * plane() : nullptr);
  }
};

/// Teams over channels, lane groups and their column tiles.
template <int RowTiles>
struct PixelTeams {
  int rows;
  int teams_of_group;
  int groups;
  int panels;

  std::int64_t count() const {
    return std::int64_t{ceil_div(rows, 16 * RowTiles)} * teams_of_group * groups;
  }
  KOKKOS_INLINE_FUNCTION PixelWork work(int team) const {
    const int column_teams = teams_of_group * groups;
    return {team / column_teams * 16 * RowTiles, team % column_teams * kTeamTiles, panels};
  }
};

/// y = W * x + b, then max(y, 0) if `relu`.
template <int RowTiles>
struct ForwardProblem {
  static constexpr int kRowTiles = RowTiles;
  static constexpr bool kADepthFirst = true;
  static constexpr bool kBDepthFirst = false;
  using A = PackedWeights;
  using B = ForwardPatches;
  struct Target {
    float* data;  ///< the pixel in the first channel, or null
  };
  PackedWeights a;
  ForwardPatches b;
  PixelTeams<RowTiles> teams;
  const float* bias;  ///< or null
  bool relu;
  float* y;

  KOKKOS_INLINE_FUNCTION PixelWork work(int team) const { return teams.work(team); }
  KOKKOS_INLINE_FUNCTION int next(const PixelWork&, int panel) const { return panel; }
  KOKKOS_INLINE_FUNCTION Target target(const PixelWork& work, int column_tile) const {
    const LanePixel at(work.first_tile + column_tile, b.tiles());
    return {at.h < 0 ? nullptr : y + at.group * b.shape.out_group() + b.shape.out(0, at.h, at.w)};
  }
  KOKKOS_INLINE_FUNCTION void store(const PixelWork& work, const Target& target, int row, int lane,
                                    float sum) const {
    const int o = work.first_row + row;
    if (!target.data || o >= b.shape.out_channels) return;
    const float value = sum + (bias ? bias[o] : 0.0f);
    target.data[b.shape.out(o, 0, 0) + lane] = relu && value <= 0 ? 0 : value;
  }
};

/// dx = sum over outputs of W dy, 0 where x_mask is not above 0.
template <int RowTiles>
struct InputGradientProblem {
  static constexpr int kRowTiles = RowTiles;
  static constexpr bool kADepthFirst = true;
  static constexpr bool kBDepthFirst = false;
  using A = PackedWeights;
  using B = GradientPatches;
  struct Work : PixelWork {
    GradientPatches::Column column[kTeamTiles];
  };
  struct Target {
    std::int64_t place;  ///< of the pixel in the first channel, or -1
  };
  PackedWeights a;
  GradientPatches b;
  PixelTeams<RowTiles> teams;
  const float* x_mask;  ///< or null
  float* dx;

  KOKKOS_INLINE_FUNCTION Work work(int team) const {
    Work work{teams.work(team), {}};
    for (int t = 0; t < kTeamTiles; ++t) work.column[t] = b.column(work, t * kLanes);
    return work;
  }
  /// Leaves out taps in which no pixel of the team meets an output.
  KOKKOS_INLINE_FUNCTION int next(const Work& work, int panel) const {
    while (panel < work.panels && panel % b.panels_of_tap() == 0) {
      for (const GradientPatches::Column& column : work.column)
        if (b.pixel(column, panel / b.panels_of_tap())) return panel;
      panel += b.panels_of_tap();
    }
    return panel;
  }
  KOKKOS_INLINE_FUNCTION Target target(const PixelWork& work, int column_tile) const {
    const LanePixel at(work.first_tile + column_tile, b.tiles());
    return {at.h < 0 ? -1 : at.group * b.shape.in_group() + b.shape.in(0, at.h, at.w)};
  }
  KOKKOS_INLINE_FUNCTION void store(const PixelWork& work, const Target& target, int row, int lane,
                                    float sum) const {
    const int i = work.first_row + row;
    if (target.place < 0 || i >= b.shape.in_channels) return;
    const std::int64_t place = target.place + b.shape.in(i, 0, 0) + lane;
    dx[place] = x_mask && x_mask[place] <= 0 ? 0 : sum;
  }
};

}  // namespace quern::device
