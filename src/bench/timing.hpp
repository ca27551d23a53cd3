// SPDX-License-Identifier: Apache-2.0
// Repeated measurements: what they say, and how ranks take them together.
#pragma once

#include <algorithm>
#include <vector>

#include "base/stopwatch.hpp"
#include "comm/communicator.hpp"

namespace quern {

/// What repeated measurements say. Of times: the fastest is the smallest.
struct Spread {
  double median = 0;
  double smallest = 0;
  double largest = 0;
};

/// Of at least one value; the median of an even number is the mean of the middle two.
Spread spread_of(std::vector<double> values);

/// Collective: the largest of the ranks' durations.
double slowest_rank_s(Communicator& comm, double seconds);

/// Collective: seconds that `work` takes, all ranks starting together, the slowest rank's.
template <class Work>
double time_together(Communicator& comm, Work&& work) {
  comm.barrier();
  const Stopwatch watch;
  work();
  return slowest_rank_s(comm, watch.seconds());
}

/// Collective: the same for one of `calls` calls in a row.
template <class Work>
double time_calls(Communicator& comm, int calls, Work&& work) {
  const auto all = [&] {
    for (int call = 0; call < calls; ++call) work();
  };
  return time_together(comm, all) / calls;
}

/// How many calls of `call_s` fill about `target_s`: `least` to `most`.
int calls_that_fill(double target_s, double call_s, int least, int most);

}  // namespace quern
