// SPDX-License-Identifier: Apache-2.0
// The one description of a recipe's keys.
#pragma once

#include <vector>

#include "config/key.hpp"
#include "spec/recipe.hpp"

namespace quern {

/// All keys of a recipe in the order in which it is written; the keys of a table are neighbours.
const std::vector<Key<Recipe>>& recipe_keys();

}  // namespace quern
