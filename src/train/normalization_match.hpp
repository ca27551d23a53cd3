// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint_state.hpp"
#include "spec/recipe.hpp"

namespace quern {

/// Weights mean what they did only for inputs and targets on the scale that they were trained with.
/// For each of data.normalize and data.normalize_targets that is another in `recipe`, where it is
/// resolved, than in the recipe that `weights` bring along: a sentence with both, and with the
/// option that makes them agree. Nothing for weights of other programs. Of weights that are taken
/// in part (network.init.only) the targets do not count: most often the last layer is a new one.
std::vector<std::string> differing_normalizations(const LoadedCheckpoint& weights,
                                                  const Recipe& recipe);

/// `recipe`, and where data.normalize or data.normalize_targets is "dataset", or loss.class_weights
/// "balanced", the numbers that the recipe of `weights` has, if it has some. InputError where these
/// do not fit the network.
Recipe with_numbers_of(const LoadedCheckpoint& weights, Recipe recipe);

}  // namespace quern
