// SPDX-License-Identifier: Apache-2.0
#include "layers/host/layout.hpp"

#include <algorithm>

#include "linalg/host/simd_transpose.hpp"

namespace quern::host {

namespace {

/// A work item is 16 units of 16 slots: one cache line of every slot in rows and panels.
struct LayoutTiles {
  ActivationIndex flat;  ///< rows or panels
  std::int64_t per_group;

  explicit LayoutTiles(const Activation& rows_or_panels)
      : flat(rows_or_panels), per_group(round_up_to_lanes(flat.units) / kLanes) {}

  std::int64_t count(int slots) const { return slots / kLanes * per_group; }
  std::int64_t group(std::int64_t tile) const { return tile / per_group; }
  std::int64_t first_unit(std::int64_t tile) const { return tile % per_group * kLanes; }
  /// Units of the tile.
  std::int64_t width(std::int64_t tile) const {
    return std::min<std::int64_t>(kLanes, flat.units - first_unit(tile));
  }
  std::int64_t in_flat(std::int64_t tile) const {
    return flat.sixteen(group(tile) * kLanes, first_unit(tile));
  }
  std::int64_t next_slot() const { return flat.layout == Layout::panels ? kLanes : flat.stride; }
  std::int64_t in_lanes(std::int64_t tile) const {
    return (group(tile) * flat.units + first_unit(tile)) * kLanes;
  }
};

}  // namespace

void flat_to_lanes(const ExecSpace& exec, const std::string& label, const Activation& from,
                   const Activation& to) {
  const LayoutTiles tiles(from);
  const float* flat = from.data.data();
  float* lanes = to.data.data();
  Kokkos::parallel_for(label, RangePolicy(exec, 0, tiles.count(from.slots)),
                       [=](std::int64_t tile) {
                         const float* in = flat + tiles.in_flat(tile);
                         float* out = lanes + tiles.in_lanes(tile);
                         const std::int64_t width = tiles.width(tile);
                         if (width == kLanes) {
                           simd::transpose_tile(in, tiles.next_slot(), out, kLanes);
                           return;
                         }
                         float units[kLanes * kLanes];
                         simd::transpose_tile(in, tiles.next_slot(), units, kLanes);
                         std::copy(units, units + width * kLanes, out);
                       });
}

void lanes_to_flat(const ExecSpace& exec, const std::string& label, const Activation& from,
                   const Activation& to) {
  const LayoutTiles tiles(to);
  const float* lanes = from.data.data();
  float* flat = to.data.data();
  Kokkos::parallel_for(label, RangePolicy(exec, 0, tiles.count(from.slots)),
                       [=](std::int64_t tile) {
                         const float* in = lanes + tiles.in_lanes(tile);
                         float* out = flat + tiles.in_flat(tile);
                         const std::int64_t width = tiles.width(tile);
                         if (width == kLanes) {
                           simd::transpose_tile(in, kLanes, out, tiles.next_slot());
                           return;
                         }
                         float units[kLanes * kLanes] = {};
                         std::copy(in, in + width * kLanes, units);
                         simd::transpose_tile(units, kLanes, out, tiles.next_slot());
                       });
}

}  // namespace quern::host
