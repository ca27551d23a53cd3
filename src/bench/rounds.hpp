// SPDX-License-Identifier: Apache-2.0
// The rounds of a benchmark of training steps: peaks of the machine, steps that are not timed,
// steps that are.
#pragma once

#include "bench/timing.hpp"

namespace quern {

/// Measuring the peaks leaves caches, TLB and branch predictors without anything of a step: this
/// many steps of `step_s` seconds, 20 ms of them but at least one, bring it back.
int settling_steps(double step_s);

struct RoundPlan {
  int rounds = 1;
  int settling = 1;  ///< steps of each round that are not timed
  int steps = 1;     ///< that are
};

/// `asked` steps a round, or as many as fill `round_s` if that is 0.
RoundPlan plan_rounds(int rounds, int asked, double step_s, double round_s);

/// Collective: seconds of a step once training runs. `time_steps(n)` runs n steps and gives the
/// seconds of one; the first `warmup` touch memory for the first time, and do not count.
template <class TimeSteps>
double warm_step_s(int warmup, TimeSteps&& time_steps) {
  const double cold_s = time_steps(warmup);
  return time_steps(settling_steps(cold_s));
}

/// Each round: `measure_peaks()`, `run_steps(settling)`, `measure_steps(steps)`.
template <class Peaks, class Run, class Measure>
void run_rounds(const RoundPlan& plan, Peaks&& measure_peaks, Run&& run_steps,
                Measure&& measure_steps) {
  for (int round = 0; round < plan.rounds; ++round) {
    measure_peaks();
    run_steps(plan.settling);
    measure_steps(plan.steps);
  }
}

}  // namespace quern
