// SPDX-License-Identifier: Apache-2.0
#include "app/bench/timing.hpp"

#include <cmath>

namespace quern {

double slowest_rank_s(Communicator& comm, double seconds) {
  auto nanoseconds = static_cast<std::int64_t>(std::llround(seconds * 1e9));
  comm.all_reduce_max(std::span(&nanoseconds, 1));
  return static_cast<double>(nanoseconds) * 1e-9;
}

int calls_that_fill(double target_s, double call_s, int least, int most) {
  if (call_s * most <= target_s) return most;
  return std::clamp(static_cast<int>(target_s / call_s), least, most);
}

}  // namespace quern
