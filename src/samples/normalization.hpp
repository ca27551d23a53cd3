// SPDX-License-Identifier: Apache-2.0
// data.normalize = "dataset", data.normalize_targets = "dataset": what the data say.
#pragma once

#include "comm/communicator.hpp"
#include "spec/recipe.hpp"
#include "strategy/samples.hpp"

namespace quern {

/// Collective. Mean and standard deviation of every channel over all samples (pixels as 0 to 1),
/// the deviation of a constant channel being 1. The same bits on any number of ranks; each goes
/// through its share of the samples.
NormalizeSpec statistics_of(Communicator& comm, const Samples& samples);

/// The same of the targets that come with the samples, channel by channel of `shape`.
NormalizeSpec target_statistics_of(Communicator& comm, const Samples& samples, const Shape& shape);

/// Collective. The mean over the units of a target of its variance over all samples (divided by
/// their number), in double: the same bits on any number of ranks. 0 without targets. AgreedError
/// where streamed samples cannot be read.
double variance_of_targets(Communicator& comm, const Samples& samples);

}  // namespace quern
