// SPDX-License-Identifier: Apache-2.0
#include "config/range.hpp"

#include <cmath>

namespace quern {

bool Range::contains(double value) const {
  if (!(std::abs(value) <= std::numeric_limits<float>::max())) return false;
  const auto rounded = static_cast<double>(static_cast<float>(value));
  const bool above = low_is_open ? rounded > low : value >= low;
  const bool below = high_is_open ? rounded < high : value <= high;
  return above && below;
}

Range any_number() {
  return {.low = -std::numeric_limits<double>::infinity(), .words = "of any sign"};
}

Range at_least(int low) {
  return {.low = static_cast<double>(low), .words = ">= " + std::to_string(low)};
}

Range above_zero() {
  return {.low = 0, .low_is_open = true, .words = "> 0"};
}

Range from_to(int low, int high) {
  return {.low = static_cast<double>(low),
          .high = static_cast<double>(high),
          .words = "from " + std::to_string(low) + " to " + std::to_string(high)};
}

Range from_zero_below_one() {
  return {.low = 0, .high = 1, .high_is_open = true, .words = "in [0, 1)"};
}

Range above_zero_to_one() {
  return {.low = 0, .high = 1, .low_is_open = true, .words = "in (0, 1]"};
}

}  // namespace quern
