// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "config/key.hpp"
#include "spec/recipe.hpp"

namespace quern {

/// Appends the keys of the table `data` and of its tables.
void add_data_keys(std::vector<Key<Recipe>>& list);

}  // namespace quern
