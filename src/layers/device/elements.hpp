// SPDX-License-Identifier: Apache-2.0
// Changes of layout and the gathering of a batch on a device: a thread writes one element, so that
// neighbours write neighbours.
#pragma once

#include "layers/window.hpp"
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

  KOKKOS_INLINE_FUNCTION std::int64_t unit(std::int64_t i) const {
    return layout == Layout::nc ? i % row_floats(units) : i / kLanes % units;
  }
  KOKKOS_INLINE_FUNCTION std::int64_t row(std::int64_t i) const {
    return layout == Layout::nc ? i / row_floats(units) : i / kLanes / units * kLanes + i % kLanes;
  }

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t u = unit(i);
    const std::int64_t sample = sample_of_row[row(i)];
    y[i] = sample >= 0 && u < units ? Convert::to_float(data[sample * units + u]) : 0;
  }
};

/// The same through the window of each row.
template <class T, class Convert>
struct GatherWindowElement : GatherElement<T, Convert> {
  const Window* windows;
  Shape shape;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t u = this->unit(i);
    const std::int64_t r = this->row(i);
    const std::int64_t sample = this->sample_of_row[r];
    float value = 0;
    if (sample >= 0 && u < this->units)
      value = Convert::to_float(
          WindowReader<T>(this->data + sample * this->units, shape, windows[r], u).next());
    this->y[i] = value;
  }
};

}  // namespace quern::device
