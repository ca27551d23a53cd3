// SPDX-License-Identifier: Apache-2.0
// parallel.balance: measures the full batches of a training, and moves their shares from rank to
// rank.
#pragma once

#include <vector>

#include "parallel/gradient_reducer.hpp"
#include "parallel/rank_sums.hpp"
#include "strategy/rank_loads.hpp"
#include "strategy/samples.hpp"
#include "strategy/share_balance.hpp"

namespace quern {

/// InputError unless the ranks can take over each other's samples and partial sums.
void check_can_balance(const GradientReducer& reducer, const RankSums& sums,
                       const Samples& samples);

/// What a rank measures (RankLoads) and all decide (ShareBalance). The calls of a step come in this
/// order, in full batches alone.
class StepBalance {
 public:
  /// Collective; begins with equal shares of `num_blocks` blocks. `comm`: ranks of one node.
  StepBalance(Communicator& comm, int num_blocks)
      : loads_(comm), shares_(num_blocks, comm.size()) {}

  void begin_step() { loads_.begin_step(); }
  /// After the last piece: waits for it, so that what it took is known.
  void end_computing(const ExecSpace& exec);
  /// The gradient is added, and not yet published what came of it.
  void end_reduction() { has_period_ended_ = loads_.has_period_ended(); }
  /// Has the step led to other shares()? The same answer on all ranks.
  bool end_step();

  const std::vector<int>& shares() const { return shares_.shares(); }
  int most_blocks() const { return shares_.most_blocks(); }

 private:
  RankLoads loads_;
  ShareBalance shares_;
  bool has_period_ended_ = false;
};

}  // namespace quern
