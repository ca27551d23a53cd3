// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "base/stopwatch.hpp"
#include "comm/communicator.hpp"

namespace quern {

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
