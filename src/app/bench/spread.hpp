// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace quern {

/// What repeated measurements say. Of times: the fastest is the smallest.
struct Spread {
  double median = 0;
  double smallest = 0;
  double largest = 0;
};

/// Of at least one value; the median of an even number is the mean of the middle two.
Spread spread_of(std::vector<double> values);

}  // namespace quern
