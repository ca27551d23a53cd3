// SPDX-License-Identifier: Apache-2.0
// Changes of layout and the gathering of a batch on a device: a thread writes one element, so that
// neighbours write neighbours.
#pragma once

#include "tensor/activation.hpp"

namespace quern::device {

struct RowsToLanes {
  const float* rows;
  float* lanes;
  std::int64_t units;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t unit = i / kLanes % units;
    const std::int64_t slot = i / kLanes / units * kLanes + i % kLanes;
    lanes[i] = rows[slot * row_floats(units) + unit];
  }
};

/// Padding becomes zero.
struct LanesToRows {
  const float* lanes;
  float* rows;
  std::int64_t units;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t unit = i % row_floats(units);
    const std::int64_t slot = i / row_floats(units);
    const std::int64_t place = (slot / kLanes * units + unit) * kLanes + slot % kLanes;
    rows[i] = unit < units ? lanes[place] : 0;
  }
};

/// Element i of a batch out of samples [N, units], converted by Convert. Empty slots and the
/// padding of rows become zero.
template <class T, class Convert>
struct GatherElement {
  const T* data;
  const std::int64_t* sample_of_slot;
  float* y;
  std::int64_t units;
  Layout layout;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const bool in_rows = layout == Layout::rows;
    const std::int64_t row_stride = row_floats(units);
    const std::int64_t unit = in_rows ? i % row_stride : i / kLanes % units;
    const std::int64_t slot = in_rows ? i / row_stride : i / kLanes / units * kLanes + i % kLanes;
    const std::int64_t sample = sample_of_slot[slot];
    y[i] = sample >= 0 && unit < units ? Convert::to_float(data[sample * units + unit]) : 0;
  }
};

}  // namespace quern::device
