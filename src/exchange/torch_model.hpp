// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "spec/recipe.hpp"

namespace quern {

/// A Python file with the recipe's network as a torch.nn.Module, whose state_dict has Quern's
/// names, and a function that loads a safetensors file into it: `weights` beside it, unless told
/// another. `input`: what it was trained on, as CheckpointState::input; bytes of images are then
/// divided by 255 there, and bytes are refused otherwise. InputError for a layer of a C++ program.
std::string torch_model(const Recipe& recipe, const std::string& weights, const std::string& input);

}  // namespace quern
