// SPDX-License-Identifier: Apache-2.0
#include "layers/gather.hpp"

#include "base/assert.hpp"
#include "layers/device/elements.hpp"
#include "layers/host/gather.hpp"
#include "layers/host/gather_tiles.hpp"
#include "layers/host/gather_windows.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

namespace {

/// Values as they are, pixels 0 to 255 as 0 to 1. host/gather.cpp does the same without the
/// division.
struct ToFloat {
  KOKKOS_INLINE_FUNCTION static float to_float(std::uint8_t pixel) {
    return static_cast<float>(pixel) / 255.0f;
  }
  KOKKOS_INLINE_FUNCTION static float to_float(float value) { return value; }
};

template <class T>
void gather(const ExecSpace& exec, const std::string& label, const View<const T>& data,
            const View<const std::int64_t>& sample_of_row, const Activation& y,
            const View<const Window>& windows) {
  expect(sample_of_row.extent_int(0) >= y.rows, "a sample for every row");
  expect(windows.extent(0) == 0 || windows.extent_int(0) >= y.rows, "a window for every row");
  const std::int64_t units = y.shape.units();
  expect(data.extent(0) % static_cast<std::size_t>(units) == 0, "whole samples of y's shape");
  if (runs_device_kernels()) {
    expect(y.layout != Layout::cn16c, "nc or nchw16n, on a device");
    const device::GatherElement<T, ToFloat> gather{data.data(), sample_of_row.data(), y.data.data(),
                                                   units, y.layout};
    const RangePolicy elements(exec, 0, y.size());
    if (windows.extent(0) == 0)
      Kokkos::parallel_for(label, elements, gather);
    else
      Kokkos::parallel_for(
          label, elements,
          device::GatherWindowElement<T, ToFloat>{gather, windows.data(), y.shape});
  } else if constexpr (kHostExecution) {
    if (y.layout == Layout::tiles)
      host::gather_tiles(exec, label, data, sample_of_row, windows, y);
    else if (windows.extent(0) == 0)
      host::gather(exec, label, data, sample_of_row, y);
    else
      host::gather_windows(exec, label, data, sample_of_row, windows, y);
  }
}

}  // namespace

void gather_images(const ExecSpace& exec, const View<const std::uint8_t>& images,
                   const View<const std::int64_t>& sample_of_row, const Activation& y,
                   const View<const Window>& windows) {
  gather(exec, "quern::layers::gather_images", images, sample_of_row, y, windows);
}

void gather_values(const ExecSpace& exec, const ConstFloatView& values,
                   const View<const std::int64_t>& sample_of_row, const Activation& y,
                   const View<const Window>& windows) {
  gather(exec, "quern::layers::gather_values", values, sample_of_row, y, windows);
}

}  // namespace quern
