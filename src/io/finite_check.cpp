// SPDX-License-Identifier: Apache-2.0
#include "io/finite_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace quern {

std::string origin_prefix(const std::string& origin) {
  return origin.empty() ? "" : origin + ": ";
}

void check_finite_samples(std::span<const float> values, const char* name, const Shape& shape,
                          StoredType stored, std::int64_t first, const std::string& origin) {
  constexpr float kTooLargeForHalf = 65520;  // rounds to infinity
  const auto is_good = [&](float value) {
    return std::isfinite(value) &&
           (stored != StoredType::float16 || std::abs(value) < kTooLargeForHalf);
  };
  const auto wrong = std::find_if_not(values.begin(), values.end(), is_good);
  if (wrong == values.end()) return;
  throw InputError(fmt::format(
      "{}the {} of sample {} hold {}, expected finite {} numbers", origin_prefix(origin), name,
      first + (wrong - values.begin()) / shape.units(), *wrong, to_string(stored)));
}

}  // namespace quern
