// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>

#include "app/preflight/facts.hpp"
#include "comm/communicator.hpp"

namespace quern {

/// Collective: overwrites the values by their sums over the ranks; the seconds that took.
using TimedSum = std::function<double(std::span<float> values)>;

/// Collective: sums that can be told in advance, and how long they take. The figures are rank 0's.
NetworkFacts measure_all_reduce(Communicator& comm, const TimedSum& sum);

/// The same of the communicator itself, in host memory.
NetworkFacts measure_network(Communicator& comm);

/// Collective: this rank's clock minus rank 0's, in seconds, to a few milliseconds.
double measure_clock_offset(Communicator& comm);

}  // namespace quern
