// SPDX-License-Identifier: Apache-2.0
#include "layers/layout.hpp"

#include "base/assert.hpp"
#include "layers/layout_kernels.hpp"
#include "tensor/chunks.hpp"

namespace quern {

namespace {

const LayoutKernels& layout_kernels() {
  return choose_kernels<const LayoutKernels&()>(
      {.host = host_set<host::layout_kernels>(), .device = device::layout_kernels})();
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
    expect(layout_kernels().convert_tiles != nullptr, "tiles on a CPU");
    layout_kernels().convert_tiles(exec, from, to, content);
    return;
  }
  if (from.layout != Layout::nchw16n && to.layout != Layout::nchw16n) {
    flat_to_flat(exec, from, to);
    return;
  }
  expect(from.rows % kLanes == 0, "whole lane groups");
  if (to.layout == Layout::nchw16n)
    layout_kernels().flat_to_lanes(exec, from, to);
  else
    layout_kernels().lanes_to_flat(exec, from, to);
}

}  // namespace quern
