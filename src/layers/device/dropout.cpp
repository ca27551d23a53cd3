// SPDX-License-Identifier: Apache-2.0
// Dropout on a device: a thread draws the factors of four units of one sample.
#include "base/assert.hpp"
#include "base/ceil_div.hpp"
#include "layers/dropout_kernels.hpp"

namespace quern::device {

namespace {

/// The masks of neighbouring threads belong to neighbouring quads
/// (nc) or samples (nchw16n).
struct MaskQuad {
  static constexpr int kUnits = DropoutMask::kQuadUnits;
  DropoutMask mask;
  Layout layout;

  KOKKOS_INLINE_FUNCTION static constexpr std::int64_t quads(std::int64_t units, Layout layout) {
    return ceil_div(layout == Layout::nc ? round_up_to_lanes(units) : units, kUnits);
  }
  std::int64_t num_items(int rows) const { return quads(mask.units, layout) * rows; }

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    const bool is_nc = layout == Layout::nc;
    const std::int64_t per_row = quads(mask.units, layout);
    const std::int64_t quad = is_nc ? item % per_row : item / kLanes % per_row;
    const std::int64_t row =
        is_nc ? item / per_row : item / kLanes / per_row * kLanes + item % kLanes;
    const std::int64_t sample = mask.sample_of_row(row);
    float factor[kUnits] = {};
    if (sample >= 0) mask.draw(sample, quad, factor, 1);
    const std::int64_t row_stride = row_floats(mask.units);
    for (int w = 0; w < kUnits; ++w) {
      const std::int64_t unit = quad * kUnits + w;
      const bool exists = unit < mask.units;
      if (!exists && !is_nc) return;
      const std::int64_t at = is_nc ? row * row_stride + unit
                                    : (row / kLanes * mask.units + unit) * kLanes + row % kLanes;
      mask.to[at] = DropoutMask::apply(mask.from[at], exists ? factor[w] : 0);
    }
  }
};

}  // namespace

void apply_dropout(const ExecSpace& exec, const std::string& label, const DropoutMask& mask,
                   const Activation& from) {
  expect(from.layout != Layout::cn16c, "nc or nchw16n, on a device");
  const MaskQuad kernel{mask, from.layout};
  Kokkos::parallel_for(label, RangePolicy(exec, 0, kernel.num_items(from.rows)), kernel);
}

}  // namespace quern::device
