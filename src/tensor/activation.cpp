// SPDX-License-Identifier: Apache-2.0
#include "tensor/activation.hpp"

#include "tensor/kernel_choice.hpp"

namespace quern {

Layout flat_layout() {
  return runs_device_kernels() ? Layout::rows : Layout::panels;
}

std::int64_t Activation::size() const {
  switch (layout) {
    case Layout::panels:
      return round_up_to_lanes(shape.units()) / kLanes * panel_stride();
    case Layout::rows:
      return std::int64_t{slots} * row_stride();
    case Layout::lanes:
      break;
  }
  return std::int64_t{slots} * shape.units();
}

std::int64_t allocation_size(const Shape& shape, Layout layout, int slots) {
  constexpr std::int64_t slack = 8 * kLanes;
  return Activation{{}, shape, layout, slots}.size() + slack;
}

Activation allocate_activation(const std::string& label, const Shape& shape, Layout layout,
                               int slots) {
  Activation activation{{}, shape, layout, slots};
  activation.data =
      FloatView(label, static_cast<std::size_t>(allocation_size(shape, layout, slots)));
  return activation;
}

}  // namespace quern
