// SPDX-License-Identifier: Apache-2.0
#include "tensor/activation.hpp"

namespace quern {

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
