// SPDX-License-Identifier: Apache-2.0
// Changes of layout and the gathering of a batch on a device: a thread writes one element, so that
// neighbours write neighbours.
#pragma once

#include "tensor/activation.hpp"

namespace quern::device {

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

/// Element i of a batch out of samples [N, units], converted by Convert. Empty rows and the
/// padding of rows become zero.
template <class T, class Convert>
struct GatherElement {
  const T* data;
  const std::int64_t* sample_of_row;
  float* y;
  std::int64_t units;
  Layout layout;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const bool is_nc = layout == Layout::nc;
    const std::int64_t row_stride = row_floats(units);
    const std::int64_t unit = is_nc ? i % row_stride : i / kLanes % units;
    const std::int64_t row = is_nc ? i / row_stride : i / kLanes / units * kLanes + i % kLanes;
    const std::int64_t sample = sample_of_row[row];
    y[i] = sample >= 0 && unit < units ? Convert::to_float(data[sample * units + unit]) : 0;
  }
};

}  // namespace quern::device
