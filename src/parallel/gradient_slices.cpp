// SPDX-License-Identifier: Apache-2.0
#include "parallel/gradient_slices.hpp"

#include "base/assert.hpp"
#include "tensor/types.hpp"

namespace quern {

GradientSlices::GradientSlices(std::int64_t num_floats, int num_ranks) : num_floats_(num_floats) {
  expect(num_floats >= 1 && num_ranks >= 1, "at least one float and one rank");
  slice_size_ = round_up_to_lanes((num_floats + num_ranks - 1) / num_ranks);
}

}  // namespace quern
