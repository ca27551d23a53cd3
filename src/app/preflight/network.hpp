// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/preflight/facts.hpp"
#include "comm/communicator.hpp"

namespace quern {

/// Collective: sums that can be told in advance, and how long they take. The figures are rank 0's.
NetworkFacts measure_network(Communicator& comm);

/// Collective: this rank's clock minus rank 0's, in seconds, to a few milliseconds.
double measure_clock_offset(Communicator& comm);

}  // namespace quern
