// SPDX-License-Identifier: Apache-2.0
#include "layers/layout.hpp"

#include "base/assert.hpp"
#include "layers/device/elements.hpp"
#include "tensor/chunks.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

namespace {

/// A work item is 16 units of 16 slots: one cache line of every row.
struct Tile {
  int units;

  KOKKOS_INLINE_FUNCTION std::int64_t row_stride() const { return row_floats(units); }
  KOKKOS_INLINE_FUNCTION std::int64_t tiles_per_group() const {
    return round_up_to_lanes(units) / kLanes;
  }
  KOKKOS_INLINE_FUNCTION std::int64_t group(std::int64_t tile) const {
    return tile / tiles_per_group();
  }
  KOKKOS_INLINE_FUNCTION int first_unit(std::int64_t tile) const {
    return static_cast<int>(tile % tiles_per_group()) * kLanes;
  }
  KOKKOS_INLINE_FUNCTION int width(std::int64_t tile) const {
    const int left = units - first_unit(tile);
    return left < kLanes ? left : kLanes;
  }
  KOKKOS_INLINE_FUNCTION std::int64_t in_rows(std::int64_t tile) const {
    return group(tile) * kLanes * row_stride() + first_unit(tile);
  }
  KOKKOS_INLINE_FUNCTION std::int64_t in_lanes(std::int64_t tile) const {
    return (group(tile) * units + first_unit(tile)) * kLanes;
  }
};

void rows_to_lanes(const ExecSpace& exec, const Activation& from, const Activation& to) {
  const Tile tiles{from.shape.units()};
  const float* rows = from.data.data();
  float* lanes = to.data.data();
  if (runs_device_kernels()) {
    Kokkos::parallel_for("quern::layers::rows_to_lanes", RangePolicy(exec, 0, to.size()),
                         device::RowsToLanes{rows, lanes, from.shape.units()});
  } else if constexpr (kHostExecution) {
    Kokkos::parallel_for(
        "quern::layers::rows_to_lanes",
        RangePolicy(exec, 0, from.slots / kLanes * tiles.tiles_per_group()),
        KOKKOS_LAMBDA(std::int64_t tile) {
          const float* in = rows + tiles.in_rows(tile);
          float* out = lanes + tiles.in_lanes(tile);
          for (int u = 0; u < tiles.width(tile); ++u)
            for (int l = 0; l < kLanes; ++l) out[u * kLanes + l] = in[l * tiles.row_stride() + u];
        });
  }
}

void lanes_to_rows(const ExecSpace& exec, const Activation& from, const Activation& to) {
  const Tile tiles{from.shape.units()};
  const float* lanes = from.data.data();
  float* rows = to.data.data();
  if (runs_device_kernels()) {
    Kokkos::parallel_for("quern::layers::lanes_to_rows", RangePolicy(exec, 0, to.size()),
                         device::LanesToRows{lanes, rows, from.shape.units()});
  } else if constexpr (kHostExecution) {
    Kokkos::parallel_for(
        "quern::layers::lanes_to_rows",
        RangePolicy(exec, 0, from.slots / kLanes * tiles.tiles_per_group()),
        KOKKOS_LAMBDA(std::int64_t tile) {
          const float* in = lanes + tiles.in_lanes(tile);
          float* out = rows + tiles.in_rows(tile);
          const int width = tiles.width(tile);
          for (int l = 0; l < kLanes; ++l, out += tiles.row_stride()) {
            for (int u = 0; u < width; ++u) out[u] = in[u * kLanes + l];
            for (int u = width; u < kLanes; ++u) out[u] = 0;
          }
        });
  }
}

void copy(const ExecSpace& exec, const Activation& from, const Activation& to) {
  const float* in = from.data.data();
  float* out = to.data.data();
  for_each_chunk(
      exec, "quern::layers::copy_layout", from.size(),
      KOKKOS_LAMBDA(std::int64_t begin, std::int64_t end) {
        QUERN_VECTORIZE
        for (std::int64_t i = begin; i < end; ++i) out[i] = in[i];
      });
}

}  // namespace

void convert_layout(const ExecSpace& exec, const Activation& from, const Activation& to) {
  expect(from.slots == to.slots && from.shape.units() == to.shape.units(),
         "as many slots and units on both sides");
  if (from.layout == to.layout) {
    copy(exec, from, to);
    return;
  }
  expect(from.slots % kLanes == 0, "whole lane groups");
  if (from.layout == Layout::rows)
    rows_to_lanes(exec, from, to);
  else
    lanes_to_rows(exec, from, to);
}

}  // namespace quern
