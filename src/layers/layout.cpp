// SPDX-License-Identifier: Apache-2.0
#include "layers/layout.hpp"

#include "base/assert.hpp"
#include "layers/device/elements.hpp"
#include "layers/host/layout.hpp"
#include "layers/host/tile_rounding.hpp"
#include "tensor/chunks.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

namespace {

void flat_to_lanes(const ExecSpace& exec, const Activation& from, const Activation& to) {
  const char* const label = "quern::layers::flat_to_lanes";
  if (runs_device_kernels()) {
    expect(from.layout == Layout::nc, "nc, on a device");
    Kokkos::parallel_for(label, RangePolicy(exec, 0, to.size()),
                         device::NcToNchw16n{from.data.data(), to.data.data(), from.shape.units()});
  } else if constexpr (kHostExecution) {
    host::flat_to_lanes(exec, label, from, to);
  }
}

void lanes_to_flat(const ExecSpace& exec, const Activation& from, const Activation& to) {
  const char* const label = "quern::layers::lanes_to_flat";
  if (runs_device_kernels()) {
    expect(to.layout == Layout::nc, "nc, on a device");
    Kokkos::parallel_for(label, RangePolicy(exec, 0, to.size()),
                         device::Nchw16nToNc{from.data.data(), to.data.data(), from.shape.units()});
  } else if constexpr (kHostExecution) {
    host::lanes_to_flat(exec, label, from, to);
  }
}

/// Between nc and cn16c: a work item is a row.
void flat_to_flat(const ExecSpace& exec, const Activation& from, const Activation& to) {
  const ActivationIndex source(from);
  const ActivationIndex target(to);
  const float* in = from.data.data();
  float* out = to.data.data();
  Kokkos::parallel_for(
      "quern::layers::flat_to_flat", RangePolicy(exec, 0, from.rows),
      KOKKOS_LAMBDA(std::int64_t row) {
        for (std::int64_t u = 0; u < source.units; u += kLanes) {
          const std::int64_t left = source.units - u;
          for (int l = 0; l < kLanes; ++l)
            out[target.sixteen(row, u) + l] = l < left ? in[source.sixteen(row, u) + l] : 0;
        }
      });
}

/// To and from tiles: the other side is cn16c.
void tiles_and_flat(const ExecSpace& exec, const Activation& from, const Activation& to,
                    Content content) {
  if constexpr (kHostExecution) {
    const Layout flat = from.layout == Layout::tiles ? to.layout : from.layout;
    expect(flat == Layout::cn16c, "tiles out of cn16c, or cn16c out of tiles");
    if (from.layout == Layout::tiles)
      host::unround(exec, OperandTiles(from), to);
    else if (content == Content::gradient)
      host::round_gradients(exec, from, OperandTiles(to));
    else
      host::round_values(exec, from, OperandTiles(to));
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

void convert_layout(const ExecSpace& exec, const Activation& from, const Activation& to,
                    Content content) {
  expect(from.rows == to.rows && from.shape.units() == to.shape.units(),
         "as many rows and units on both sides");
  if (from.layout == to.layout) {
    copy(exec, from, to);
    return;
  }
  if (from.layout == Layout::tiles || to.layout == Layout::tiles) {
    tiles_and_flat(exec, from, to, content);
    return;
  }
  if (from.layout != Layout::nchw16n && to.layout != Layout::nchw16n) {
    flat_to_flat(exec, from, to);
    return;
  }
  expect(from.rows % kLanes == 0, "whole lane groups");
  if (to.layout == Layout::nchw16n)
    flat_to_lanes(exec, from, to);
  else
    lanes_to_flat(exec, from, to);
}

}  // namespace quern
