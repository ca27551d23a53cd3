// SPDX-License-Identifier: Apache-2.0
#include "layers/layout.hpp"

#include "base/assert.hpp"
#include "layers/device/elements.hpp"
#include "tensor/chunks.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

namespace {

/// A work item is 16 units of 16 slots: one cache line of every slot in rows and panels.
struct Tile {
  ActivationIndex flat;  // rows or panels

  KOKKOS_INLINE_FUNCTION std::int64_t tiles_per_group() const {
    return round_up_to_lanes(flat.units) / kLanes;
  }
  KOKKOS_INLINE_FUNCTION std::int64_t group(std::int64_t tile) const {
    return tile / tiles_per_group();
  }
  KOKKOS_INLINE_FUNCTION std::int64_t first_unit(std::int64_t tile) const {
    return tile % tiles_per_group() * kLanes;
  }
  KOKKOS_INLINE_FUNCTION int width(std::int64_t tile) const {
    const std::int64_t left = flat.units - first_unit(tile);
    return static_cast<int>(left < kLanes ? left : kLanes);
  }
  KOKKOS_INLINE_FUNCTION std::int64_t in_flat(std::int64_t tile) const {
    return flat.sixteen(group(tile) * kLanes, first_unit(tile));
  }
  KOKKOS_INLINE_FUNCTION std::int64_t next_slot() const {
    return flat.layout == Layout::panels ? kLanes : flat.stride;
  }
  KOKKOS_INLINE_FUNCTION std::int64_t in_lanes(std::int64_t tile) const {
    return (group(tile) * flat.units + first_unit(tile)) * kLanes;
  }
};

void flat_to_lanes(const ExecSpace& exec, const Activation& from, const Activation& to) {
  const Tile tiles{ActivationIndex(from)};
  const float* flat = from.data.data();
  float* lanes = to.data.data();
  if (runs_device_kernels()) {
    expect(from.layout == Layout::rows, "rows, on a device");
    Kokkos::parallel_for("quern::layers::flat_to_lanes", RangePolicy(exec, 0, to.size()),
                         device::RowsToLanes{flat, lanes, from.shape.units()});
  } else if constexpr (kHostExecution) {
    Kokkos::parallel_for(
        "quern::layers::flat_to_lanes",
        RangePolicy(exec, 0, from.slots / kLanes * tiles.tiles_per_group()),
        KOKKOS_LAMBDA(std::int64_t tile) {
          const float* in = flat + tiles.in_flat(tile);
          float* out = lanes + tiles.in_lanes(tile);
          for (int u = 0; u < tiles.width(tile); ++u)
            for (int l = 0; l < kLanes; ++l) out[u * kLanes + l] = in[l * tiles.next_slot() + u];
        });
  }
}

void lanes_to_flat(const ExecSpace& exec, const Activation& from, const Activation& to) {
  const Tile tiles{ActivationIndex(to)};
  const float* lanes = from.data.data();
  float* flat = to.data.data();
  if (runs_device_kernels()) {
    expect(to.layout == Layout::rows, "rows, on a device");
    Kokkos::parallel_for("quern::layers::lanes_to_flat", RangePolicy(exec, 0, to.size()),
                         device::LanesToRows{lanes, flat, from.shape.units()});
  } else if constexpr (kHostExecution) {
    Kokkos::parallel_for(
        "quern::layers::lanes_to_flat",
        RangePolicy(exec, 0, from.slots / kLanes * tiles.tiles_per_group()),
        KOKKOS_LAMBDA(std::int64_t tile) {
          const float* in = lanes + tiles.in_lanes(tile);
          float* out = flat + tiles.in_flat(tile);
          const int width = tiles.width(tile);
          for (int l = 0; l < kLanes; ++l, out += tiles.next_slot()) {
            for (int u = 0; u < width; ++u) out[u] = in[u * kLanes + l];
            for (int u = width; u < kLanes; ++u) out[u] = 0;
          }
        });
  }
}

/// Between rows and panels: a work item is a slot.
void flat_to_flat(const ExecSpace& exec, const Activation& from, const Activation& to) {
  const ActivationIndex source(from);
  const ActivationIndex target(to);
  const float* in = from.data.data();
  float* out = to.data.data();
  Kokkos::parallel_for(
      "quern::layers::flat_to_flat", RangePolicy(exec, 0, from.slots),
      KOKKOS_LAMBDA(std::int64_t slot) {
        for (std::int64_t u = 0; u < source.units; u += kLanes) {
          const std::int64_t left = source.units - u;
          for (int l = 0; l < kLanes; ++l)
            out[target.sixteen(slot, u) + l] = l < left ? in[source.sixteen(slot, u) + l] : 0;
        }
      });
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
  if (from.layout != Layout::lanes && to.layout != Layout::lanes) {
    flat_to_flat(exec, from, to);
    return;
  }
  expect(from.slots % kLanes == 0, "whole lane groups");
  if (to.layout == Layout::lanes)
    flat_to_lanes(exec, from, to);
  else
    lanes_to_flat(exec, from, to);
}

}  // namespace quern
