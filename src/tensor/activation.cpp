// SPDX-License-Identifier: Apache-2.0
#include "tensor/activation.hpp"

#include "tensor/kernel_choice.hpp"
#include "tensor/operand_tiles.hpp"

namespace quern {

Layout flat_layout() {
  return runs_device_kernels() ? Layout::nc : Layout::cn16c;
}

std::int64_t Activation::size() const {
  switch (layout) {
    case Layout::cn16c:
      return round_up_to_lanes(shape.units()) / kLanes * panel_stride();
    case Layout::nc:
      return std::int64_t{rows} * row_stride();
    case Layout::tiles:
      return OperandTiles::floats(shape.units(), rows);
    case Layout::nchw16n_bf16:
      return std::int64_t{rows} * shape.units() / 2;
    case Layout::nchw16n:
      break;
  }
  return std::int64_t{rows} * shape.units();
}

std::int64_t allocation_size(const Shape& shape, Layout layout, int rows) {
  constexpr std::int64_t kSlack = 8 * kLanes;
  return Activation{{}, shape, layout, rows}.size() + kSlack;
}

Activation allocate_activation(const std::string& label, const Shape& shape, Layout layout,
                               int rows) {
  Activation activation{{}, shape, layout, rows};
  activation.data =
      FloatView(label, static_cast<std::size_t>(allocation_size(shape, layout, rows)));
  return activation;
}

}  // namespace quern
