// SPDX-License-Identifier: Apache-2.0
// What the classes are called that weights from elsewhere tell apart.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint_state.hpp"
#include "spec/recipe.hpp"

namespace quern {

/// Names for a checkpoint that is made of `weights` for a network with so many outputs: those that
/// the weights were trained with, else those of the recipe's training data; none where neither
/// tells. The data may be absent; where they are there and cannot be used, or have other classes
/// than the weights, a warning says so. SystemFailure where a disk or a file server fails.
std::vector<std::string> class_names_of_weights(const LoadedCheckpoint& weights,
                                                const Recipe& recipe, int outputs);

/// The same of features, which nothing warns of.
std::vector<std::string> feature_names_of_weights(const LoadedCheckpoint& weights,
                                                  const Recipe& recipe);

}  // namespace quern
