// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/recipe.hpp"

#include "base/error.hpp"
#include "network/cut.hpp"
#include "strategy/recipe_grid.hpp"
#include "train/data_check.hpp"
#include "train/recipe_check.hpp"

namespace quern {

GridInfo grid_info(const Recipe& recipe, int num_ranks) {
  GridInfo info;
  try {
    const Recipe resolved = with_strategy(recipe, num_ranks);
    const ParallelSpec& parallel = resolved.parallel;
    info.shape = grid_shape(num_ranks, parallel.pipeline, parallel.tensor);
    if (parallel.pipeline > 1) cut_network(resolved.network, parallel.pipeline, parallel.cut);
  } catch (const InputError& error) {
    info.problem = error.what();
  }
  return info;
}

std::string recipe_problem(const Recipe& recipe, int num_ranks) {
  // A program that brings its own samples may be checked as well.
  if (recipe.data.source == DataSource::program) return "";
  try {
    check_recipe(recipe, num_ranks);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::string fit_problem(const Recipe& recipe, int num_ranks, const DataSets& data_sets) {
  const std::vector<ShardSet>& sets = data_sets.sets;
  if (sets.empty() || !data_sets.problem.empty()) return "";
  try {
    check_data(recipe, num_ranks, sets[0], sets.size() > 1 ? &sets[1] : nullptr);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace quern
