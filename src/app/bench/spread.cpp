// SPDX-License-Identifier: Apache-2.0
#include "app/bench/spread.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace quern {

Spread spread_of(std::vector<double> values) {
  expect(!values.empty(), "at least one measurement");
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
  return {median, values.front(), values.back()};
}

}  // namespace quern
