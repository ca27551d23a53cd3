// SPDX-License-Identifier: Apache-2.0
#include "strategy/step_balance.hpp"

#include <string>

#include "base/error.hpp"

namespace quern {

void check_can_balance(const GradientReducer& reducer, const RankSums& sums,
                       const Samples& samples) {
  const std::string lead = "parallel.balance: blocks move between ranks of one node that share ";
  if (reducer.takes_later_plans() && !sums.takes_later_plans())
    throw InputError(lead +
                     "memory, and there is too little of it for the sums that layers take "
                     "over the batch (expected more room in /dev/shm)");
  if (!reducer.takes_later_plans())
    throw InputError(lead + "memory, and the gradients of this run are added " +
                     reducer.describe() + " (expected one node, and kernels on CPUs)");
  if (samples.stream)
    throw InputError(lead + "the samples, and this set is streamed (expected one in memory)");
}

void StepBalance::end_computing(const ExecSpace& exec) {
  exec.fence("quern::strategy::computed");
  loads_.end_computing();
}

bool StepBalance::end_step() {
  loads_.end_step();
  return has_period_ended_ && shares_.update(loads_.loads());
}

}  // namespace quern
