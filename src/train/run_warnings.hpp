// SPDX-License-Identifier: Apache-2.0
// What somebody should know before a training begins that can be trained.
#pragma once

#include <string>
#include <vector>

#include "spec/recipe.hpp"
#include "strategy/batch_rule.hpp"

namespace quern {

/// Sentences for people, of a training on so many ranks along the data axis: batches larger than
/// the data, a warm-up longer than the run, ranks with nothing to do, settings that change nothing.
/// Where batches.num_samples is 0 nobody knows how many there are.
std::vector<std::string> run_warnings(const Recipe& recipe, const BatchRule& batches,
                                      int data_ranks);

/// Of settings that make nothing faster on this processor; "" when there is none.
std::string processor_warning(const Recipe& recipe);

}  // namespace quern
