// SPDX-License-Identifier: Apache-2.0
#include "layers/normalize_kernels.hpp"

#include "base/assert.hpp"

namespace quern::device {

namespace {

/// One value: neighbours write neighbours.
template <class Way>
struct NormalizeElement {
  const float* mean;
  const float* std;
  const std::int64_t* sample_of_row;
  float* y;
  ActivationIndex at;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const bool is_flat = at.layout == Layout::nc;
    const std::int64_t unit = is_flat ? i % at.stride : i / kLanes % at.units;
    const std::int64_t row = is_flat ? i / at.stride : i / kLanes / at.units * kLanes + i % kLanes;
    if (unit >= at.units || sample_of_row[row] < 0) return;
    y[i] = Way::of(y[i], mean[unit], std[unit]);
  }
};

}  // namespace

void apply_normalization(const ExecSpace& exec, NormalizeWay way,
                         const Normalization& normalization,
                         const View<const std::int64_t>& sample_of_row, const Activation& y) {
  expect(y.layout != Layout::cn16c, "nc or nchw16n, on a device");
  with_way(way, [&](const char* label, auto of_element) {
    Kokkos::parallel_for(label, RangePolicy(exec, 0, y.size()),
                         NormalizeElement<decltype(of_element)>{
                             normalization.mean.data(), normalization.std.data(),
                             sample_of_row.data(), y.data.data(), ActivationIndex(y)});
  });
}

}  // namespace quern::device
