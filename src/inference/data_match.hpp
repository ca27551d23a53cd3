// SPDX-License-Identifier: Apache-2.0
// Do data mean the same to a network as those that its weights were trained on?
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

/// Bytes of images enter a network divided by 255, values as they are: a network that was trained
/// on the one seldom knows the other. A sentence where `trained` and `found` ("images" or "values")
/// differ, else "", as where one is "". `data`: whose samples were found, "'data/test'".
std::string input_difference(const std::string& trained, const std::string& found,
                             const std::string& data);

/// InputError where a label of the samples `data` means another class than in training
/// (check_class_names()); warns of input_difference().
void compare_with_training(const CheckpointState& trained,
                           const std::vector<std::string>& class_names,
                           const std::string& input_name, const std::string& data);

}  // namespace quern
