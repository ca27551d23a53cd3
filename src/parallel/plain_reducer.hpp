// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "parallel/gradient_reducer.hpp"

namespace quern {

/// determinism = "fast": the transport's own all-reduce over one partial sum per rank (a schedule
/// of the rank's own blocks: make_block_schedule(0, n, n, ...)), zeros from ranks without blocks.
/// The bits depend on the number of ranks. In place: `total` is the partial sum.
class PlainReducer final : public GradientReducer {
 public:
  PlainReducer(Communicator& comm, std::int64_t num_floats, std::int64_t num_sums = 0)
      : GradientReducer(comm, num_floats, SumOrder::ranks, num_sums) {}

  ReducedGradient reduce(const ExecSpace& exec, ReductionPlan plan) override;

 private:
  FloatView allocate_partial_sums() override { return allocate_private_partial_sums(); }
};

}  // namespace quern
