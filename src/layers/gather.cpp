// SPDX-License-Identifier: Apache-2.0
#include "layers/gather.hpp"

#include "base/assert.hpp"
#include "layers/device/gather.hpp"
#include "layers/host/gather.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

namespace {

template <class T>
void check_gather(const View<const T>& data, const View<const std::int64_t>& sample_of_row,
                  const Activation& y, const View<const Window>& windows) {
  expect(sample_of_row.extent_int(0) >= y.rows, "a sample for every row");
  expect(windows.extent(0) == 0 || windows.extent_int(0) >= y.rows, "a window for every row");
  expect(data.extent(0) % static_cast<std::size_t>(y.shape.units()) == 0,
         "whole samples of y's shape");
}

}  // namespace

void gather_images(const ExecSpace& exec, const View<const std::uint8_t>& images,
                   const View<const std::int64_t>& sample_of_row, const Activation& y,
                   const View<const Window>& windows) {
  check_gather(images, sample_of_row, y, windows);
  const auto gather = choose_kernels<decltype(host::gather_images)>(
      {.host = host_set<host::gather_images>(), .device = device::gather<std::uint8_t>});
  gather(exec, "quern::layers::gather_images", images, sample_of_row, windows, y);
}

void gather_values(const ExecSpace& exec, const ConstFloatView& values,
                   const View<const std::int64_t>& sample_of_row, const Activation& y,
                   const View<const Window>& windows) {
  check_gather(values, sample_of_row, y, windows);
  const auto gather = choose_kernels<decltype(host::gather_values)>(
      {.host = host_set<host::gather_values>(), .device = device::gather<float>});
  gather(exec, "quern::layers::gather_values", values, sample_of_row, windows, y);
}

}  // namespace quern
