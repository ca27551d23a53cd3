// SPDX-License-Identifier: Apache-2.0
#include "parallel/gradient_reducer.hpp"

#include "base/assert.hpp"

namespace quern {

GradientReducer::GradientReducer(Communicator& comm, std::int64_t num_floats)
    : comm_(comm), num_floats_(num_floats) {
  expect(num_floats >= 1, "a gradient of at least one float");
}

void GradientReducer::check_partials(const GradientPartials& partials, int num_partials) const {
  if (num_partials == 0) return;
  expect(partials.stride == partial_stride(), "partials that are partial_stride() floats apart");
  expect(static_cast<std::int64_t>(partials.data.extent(0)) >= num_partials * partials.stride,
         "room for all partials of this rank");
}

}  // namespace quern
