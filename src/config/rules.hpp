// SPDX-License-Identifier: Apache-2.0
// Keys that are good one by one but contradict each other.
#pragma once

#include "config/problems.hpp"
#include "config/table_reader.hpp"
#include "spec/recipe.hpp"

namespace quern {

/// Reports values that contradict each other.
void check_rules(const Recipe& recipe, const TableReader<Recipe>& reader, Problems& problems);

}  // namespace quern
