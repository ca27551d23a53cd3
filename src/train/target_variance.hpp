// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strategy/samples.hpp"

namespace quern {

/// The mean over the units of a target of its variance over all samples (divided by their number).
/// In double, the samples in order: the same on every rank. 0 without targets.
double variance_of_targets(const Samples& samples);

}  // namespace quern
