// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.hpp"
#include "strategy/samples.hpp"

namespace quern {

/// Collective. The mean over the units of a target of its variance over all samples (divided by
/// their number), in double: the same bits on any number of ranks. 0 without targets. AgreedError
/// where streamed samples cannot be read.
double variance_of_targets(Communicator& comm, const Samples& samples);

}  // namespace quern
