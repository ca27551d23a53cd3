// SPDX-License-Identifier: Apache-2.0
#include "parallel/gradient_slices.hpp"

#include "base/assert.hpp"
#include "base/ceil_div.hpp"

namespace quern {

GradientSlices::GradientSlices(std::int64_t num_floats, int num_ranks, std::int64_t unit)
    : num_floats_(num_floats) {
  expect(num_floats >= 1 && num_ranks >= 1, "at least one float and one rank");
  expect(unit >= 1 && unit % kLanes == 0, "slices of whole lane groups");
  const std::int64_t units = ceil_div(num_floats, unit);
  slice_size_ = ceil_div(units, num_ranks) * unit;
}

}  // namespace quern
