// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "spec/recipe.hpp"

namespace quern {

/// A Python file with the recipe's network as a torch.nn.Module, whose state_dict has Quern's
/// names, and a function that loads a safetensors file into it: `weights` beside it, unless told
/// another. InputError for a layer of a C++ program.
std::string torch_model(const Recipe& recipe, const std::string& weights);

}  // namespace quern
