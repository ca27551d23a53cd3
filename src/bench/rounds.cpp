// SPDX-License-Identifier: Apache-2.0
#include "bench/rounds.hpp"

namespace quern {

int settling_steps(double step_s) {
  return calls_that_fill(0.02, step_s, 1, 1000);
}

RoundPlan plan_rounds(int rounds, int asked, double step_s, double round_s) {
  return {rounds, settling_steps(step_s),
          asked > 0 ? asked : calls_that_fill(round_s, step_s, 5, 5000)};
}

}  // namespace quern
