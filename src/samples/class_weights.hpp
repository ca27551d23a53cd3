// SPDX-License-Identifier: Apache-2.0
// loss.class_weights = "balanced": what the data say.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/communicator.hpp"
#include "spec/training_spec.hpp"
#include "strategy/samples.hpp"

namespace quern {

/// Collective: how many of the samples each of `classes` classes has; each rank goes through its
/// share of them. AgreedError where they cannot be read.
std::vector<std::int64_t> class_counts(Communicator& comm, const Samples& samples, int classes);

/// Given weights, of each class: all samples / (classes with samples x samples of the class), as
/// scikit-learn's compute_class_weight("balanced"), so that their mean over the samples is 1. A
/// class without samples has 1.
ClassWeightsSpec balanced_weights(const std::vector<std::int64_t>& counts);

}  // namespace quern
