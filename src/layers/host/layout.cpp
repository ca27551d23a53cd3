// SPDX-License-Identifier: Apache-2.0
// Changes of layout on a CPU; between nchw16n and nc or cn16c they are transposes in registers.
#include <algorithm>

#include "base/assert.hpp"
#include "layers/host/tile_rounding.hpp"
#include "layers/layout_kernels.hpp"
#include "linalg/host/simd_transpose.hpp"

namespace quern::host {

namespace {

/// A work item is 16 units of 16 rows: one cache line of every row in nc and cn16c.
struct LayoutTiles {
  ActivationIndex flat;  ///< nc or cn16c
  std::int64_t per_group;

  explicit LayoutTiles(const Activation& nc_or_cn16c)
      : flat(nc_or_cn16c), per_group(round_up_to_lanes(flat.units) / kLanes) {}

  std::int64_t count(int rows) const { return rows / kLanes * per_group; }
  std::int64_t group(std::int64_t tile) const { return tile / per_group; }
  std::int64_t first_unit(std::int64_t tile) const { return tile % per_group * kLanes; }
  /// Units of the tile.
  std::int64_t width(std::int64_t tile) const {
    return std::min<std::int64_t>(kLanes, flat.units - first_unit(tile));
  }
  std::int64_t in_flat(std::int64_t tile) const {
    return flat.sixteen(group(tile) * kLanes, first_unit(tile));
  }
  std::int64_t next_row() const { return flat.layout == Layout::cn16c ? kLanes : flat.stride; }
  std::int64_t in_nchw16n(std::int64_t tile) const {
    return (group(tile) * flat.units + first_unit(tile)) * kLanes;
  }
};

void flat_to_lanes(const ExecSpace& exec, const Activation& from, const Activation& to) {
  const LayoutTiles tiles(from);
  const float* flat = from.data.data();
  float* nchw16n = to.data.data();
  Kokkos::parallel_for("quern::layers::flat_to_lanes", RangePolicy(exec, 0, tiles.count(from.rows)),
                       [=](std::int64_t tile) {
                         const float* in = flat + tiles.in_flat(tile);
                         float* out = nchw16n + tiles.in_nchw16n(tile);
                         const std::int64_t width = tiles.width(tile);
                         if (width == kLanes) {
                           simd::transpose_tile(in, tiles.next_row(), out, kLanes);
                           return;
                         }
                         float units[kLanes * kLanes];
                         simd::transpose_tile(in, tiles.next_row(), units, kLanes);
                         std::copy(units, units + width * kLanes, out);
                       });
}

void lanes_to_flat(const ExecSpace& exec, const Activation& from, const Activation& to) {
  const LayoutTiles tiles(to);
  const float* nchw16n = from.data.data();
  float* flat = to.data.data();
  Kokkos::parallel_for("quern::layers::lanes_to_flat", RangePolicy(exec, 0, tiles.count(from.rows)),
                       [=](std::int64_t tile) {
                         const float* in = nchw16n + tiles.in_nchw16n(tile);
                         float* out = flat + tiles.in_flat(tile);
                         const std::int64_t width = tiles.width(tile);
                         if (width == kLanes) {
                           simd::transpose_tile(in, kLanes, out, tiles.next_row());
                           return;
                         }
                         float units[kLanes * kLanes] = {};
                         std::copy(in, in + width * kLanes, units);
                         simd::transpose_tile(units, kLanes, out, tiles.next_row());
                       });
}

void convert_tiles(const ExecSpace& exec, const Activation& from, const Activation& to,
                   Content content) {
  const Layout flat = from.layout == Layout::tiles ? to.layout : from.layout;
  expect(flat == Layout::cn16c, "tiles out of cn16c, or cn16c out of tiles");
  if (from.layout == Layout::tiles)
    unround(exec, OperandTiles(from), to);
  else if (content == Content::gradient)
    round_gradients(exec, from, OperandTiles(to));
  else
    round_values(exec, from, OperandTiles(to));
}

}  // namespace

const LayoutKernels& layout_kernels() {
  static constexpr LayoutKernels kKernels = {.flat_to_lanes = flat_to_lanes,
                                             .lanes_to_flat = lanes_to_flat,
                                             .convert_tiles = convert_tiles};
  return kKernels;
}

}  // namespace quern::host
