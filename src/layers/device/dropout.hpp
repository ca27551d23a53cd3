// SPDX-License-Identifier: Apache-2.0
// Dropout on a device: a thread draws the factors of four units of one sample.
#pragma once

#include "tensor/activation.hpp"

namespace quern::device {

/// Mask: see layers/dropout.cpp. The masks of neighbouring threads belong to neighbouring quads
/// (rows) or samples (lanes).
template <class Mask>
struct MaskQuad {
  static constexpr int kUnits = 4;
  Mask mask;
  Layout layout;

  KOKKOS_INLINE_FUNCTION static constexpr std::int64_t quads(std::int64_t units, Layout layout) {
    return ((layout == Layout::rows ? round_up_to_lanes(units) : units) + kUnits - 1) / kUnits;
  }
  std::int64_t num_items(int slots) const { return quads(mask.units, layout) * slots; }

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    const bool in_rows = layout == Layout::rows;
    const std::int64_t per_slot = quads(mask.units, layout);
    const std::int64_t quad = in_rows ? item % per_slot : item / kLanes % per_slot;
    const std::int64_t slot =
        in_rows ? item / per_slot : item / kLanes / per_slot * kLanes + item % kLanes;
    const std::int64_t sample = mask.sample_of_slot(slot);
    float factor[kUnits] = {};
    if (sample >= 0) mask.draw(sample, quad, factor, 1);
    const std::int64_t row_stride = row_floats(mask.units);
    for (int w = 0; w < kUnits; ++w) {
      const std::int64_t unit = quad * kUnits + w;
      const bool exists = unit < mask.units;
      if (!exists && !in_rows) return;
      const std::int64_t at = in_rows
                                  ? slot * row_stride + unit
                                  : (slot / kLanes * mask.units + unit) * kLanes + slot % kLanes;
      mask.to[at] = Mask::apply(mask.from[at], exists ? factor[w] : 0);
    }
  }
};

}  // namespace quern::device
