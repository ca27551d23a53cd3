// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "parallel/gradient_reducer.hpp"

namespace quern {

/// determinism = "fast": the transport's own all-reduce over one partial per rank (a schedule of
/// the rank's own blocks: make_block_schedule(0, n, n, ...)), zeros from ranks without blocks. The
/// bits depend on the number of ranks. In place: `total` is the partial where there is one.
class PlainReducer final : public GradientReducer {
 public:
  PlainReducer(Communicator& comm, std::int64_t num_floats);

  int num_partials(const BatchPartition& partition) const override;
  ReductionPlan add_plan(const BatchPartition& partition) override;
  ReducedGradient reduce(const ExecSpace& exec, ReductionPlan plan,
                         const GradientPartials& partials, float vote) override;

 private:
  std::vector<bool> has_partial_;  ///< by plan
  FloatView zeros_;                ///< what this rank adds when it has no blocks
};

}  // namespace quern
