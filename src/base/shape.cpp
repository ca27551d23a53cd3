// SPDX-License-Identifier: Apache-2.0
#include "base/shape.hpp"

#include <cstdint>

namespace quern {

bool Shape::is_too_large() const {
  const std::int64_t pixels = std::int64_t{height} * width;
  return pixels > kMaxUnits || channels * pixels > kMaxUnits;
}

std::string to_string(const Shape& shape) {
  const std::string channels = "[" + std::to_string(shape.channels);
  if (shape.is_flat()) return channels + "]";
  return channels + ", " + std::to_string(shape.height) + ", " + std::to_string(shape.width) + "]";
}

}  // namespace quern
