// SPDX-License-Identifier: Apache-2.0
#include "layers/host/layout.hpp"

#include <algorithm>

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

}  // namespace

void flat_to_lanes(const ExecSpace& exec, const std::string& label, const Activation& from,
                   const Activation& to) {
  const LayoutTiles tiles(from);
  const float* flat = from.data.data();
  float* nchw16n = to.data.data();
  Kokkos::parallel_for(label, RangePolicy(exec, 0, tiles.count(from.rows)), [=](std::int64_t tile) {
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

void lanes_to_flat(const ExecSpace& exec, const std::string& label, const Activation& from,
                   const Activation& to) {
  const LayoutTiles tiles(to);
  const float* nchw16n = from.data.data();
  float* flat = to.data.data();
  Kokkos::parallel_for(label, RangePolicy(exec, 0, tiles.count(from.rows)), [=](std::int64_t tile) {
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

}  // namespace quern::host
