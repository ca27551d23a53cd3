// SPDX-License-Identifier: Apache-2.0
// Changes of layout on a device: a thread writes one element, so that neighbours write neighbours.
#include "base/assert.hpp"
#include "layers/layout_kernels.hpp"

namespace quern::device {

namespace {

struct NcToNchw16n {
  const float* nc;
  float* nchw16n;
  std::int64_t units;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t unit = i / kLanes % units;
    const std::int64_t row = i / kLanes / units * kLanes + i % kLanes;
    nchw16n[i] = nc[row * row_floats(units) + unit];
  }
};

/// Padding becomes zero.
struct Nchw16nToNc {
  const float* nchw16n;
  float* nc;
  std::int64_t units;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t unit = i % row_floats(units);
    const std::int64_t row = i / row_floats(units);
    const std::int64_t place = (row / kLanes * units + unit) * kLanes + row % kLanes;
    nc[i] = unit < units ? nchw16n[place] : 0;
  }
};

void flat_to_lanes(const ExecSpace& exec, const Activation& from, const Activation& to) {
  expect(from.layout == Layout::nc, "nc, on a device");
  Kokkos::parallel_for("quern::layers::flat_to_lanes", RangePolicy(exec, 0, to.size()),
                       NcToNchw16n{from.data.data(), to.data.data(), from.shape.units()});
}

void lanes_to_flat(const ExecSpace& exec, const Activation& from, const Activation& to) {
  expect(to.layout == Layout::nc, "nc, on a device");
  Kokkos::parallel_for("quern::layers::lanes_to_flat", RangePolicy(exec, 0, to.size()),
                       Nchw16nToNc{from.data.data(), to.data.data(), from.shape.units()});
}

}  // namespace

const LayoutKernels& layout_kernels() {
  static constexpr LayoutKernels kKernels = {
      .flat_to_lanes = flat_to_lanes, .lanes_to_flat = lanes_to_flat, .convert_tiles = nullptr};
  return kKernels;
}

}  // namespace quern::device
