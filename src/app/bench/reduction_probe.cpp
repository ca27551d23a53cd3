// SPDX-License-Identifier: Apache-2.0
#include "app/bench/reduction_probe.hpp"

#include <algorithm>

#include "parallel/plain_reducer.hpp"
#include "parallel/tree_reducer.hpp"

namespace quern {

ReductionProbe::ReductionProbe(Communicator& comm, Determinism mode, std::int64_t num_floats,
                               const BatchPartition& partition) {
  if (mode == Determinism::fast) {
    reducer_ = std::make_unique<PlainReducer>(comm, num_floats);
  } else {
    reducer_ = std::make_unique<TreeReducer>(comm, num_floats);
  }
  num_partials_ = reducer_->num_partials(partition);
  plan_ = reducer_->add_plan(partition);
  const std::int64_t stride = reducer_->partial_stride();
  partials_ = {FloatView("quern::app::bench_partials",
                         static_cast<std::size_t>(std::max(1, num_partials_) * stride)),
               stride};
}

}  // namespace quern
