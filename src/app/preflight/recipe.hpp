// SPDX-License-Identifier: Apache-2.0
// What a training of the recipe would refuse before its first step.
#pragma once

#include <string>
#include <vector>

#include "app/preflight/data.hpp"
#include "app/preflight/info.hpp"
#include "spec/recipe.hpp"

namespace quern {

/// How `recipe` splits its network over so many ranks, or why it cannot.
GridInfo grid_info(const Recipe& recipe, int num_ranks);

/// Why `recipe` cannot be trained on so many ranks whatever its data are; "" when it can.
std::string recipe_problem(const Recipe& recipe, int num_ranks);

/// Why it cannot with these data sets, as far as they tell without being read; "" when it can, or
/// where they could not be opened.
std::string fit_problem(const Recipe& recipe, int num_ranks, const DataSets& data_sets);

/// What a training that can be started would warn of; nothing where the number of its samples is
/// not known.
std::vector<std::string> warnings_of(const Recipe& recipe, int num_ranks,
                                     const DataSets& data_sets);

}  // namespace quern
