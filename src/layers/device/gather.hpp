// SPDX-License-Identifier: Apache-2.0
// layers/gather.hpp on a device: a thread writes one element, so that neighbours write neighbours.
#pragma once

#include <string>

#include "base/assert.hpp"
#include "layers/window.hpp"
#include "tensor/activation.hpp"

namespace quern::device {

/// Values as they are, pixels 0 to 255 as 0 to 1. host/gather.cpp does the same without the
/// division.
KOKKOS_INLINE_FUNCTION float gathered(std::uint8_t pixel) {
  return static_cast<float>(pixel) / 255.0f;
}
KOKKOS_INLINE_FUNCTION float gathered(float value) {
  return value;
}

/// Element i of a batch out of samples [N, units]. Empty rows and the padding of rows become zero.
template <class T>
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
    y[i] = sample >= 0 && u < units ? gathered(data[sample * units + u]) : 0;
  }
};

/// The same through the window of each row.
template <class T>
struct GatherWindowElement : GatherElement<T> {
  const Window* windows;
  Shape shape;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t u = this->unit(i);
    const std::int64_t r = this->row(i);
    const std::int64_t sample = this->sample_of_row[r];
    float value = 0;
    if (sample >= 0 && u < this->units)
      value =
          gathered(WindowReader<T>(this->data + sample * this->units, shape, windows[r], u).next());
    this->y[i] = value;
  }
};

template <class T>
void gather(const ExecSpace& exec, const std::string& label, const View<const T>& data,
            const View<const std::int64_t>& sample_of_row, const View<const Window>& windows,
            const Activation& y) {
  expect(y.layout != Layout::cn16c, "nc or nchw16n, on a device");
  const GatherElement<T> element{data.data(), sample_of_row.data(), y.data.data(), y.shape.units(),
                                 y.layout};
  const RangePolicy elements(exec, 0, y.size());
  if (windows.extent(0) == 0)
    Kokkos::parallel_for(label, elements, element);
  else
    Kokkos::parallel_for(label, elements, GatherWindowElement<T>{element, windows.data(), y.shape});
}

}  // namespace quern::device
