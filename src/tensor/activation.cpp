// SPDX-License-Identifier: Apache-2.0
#include "tensor/activation.hpp"

namespace quern {

Activation allocate_activation(const std::string& label, const Shape& shape, Layout layout,
                               int slots) {
  Activation activation{{}, shape, layout, slots};
  constexpr std::int64_t slack = 8 * kLanes;
  activation.data = FloatView(label, static_cast<std::size_t>(activation.size() + slack));
  return activation;
}

}  // namespace quern
