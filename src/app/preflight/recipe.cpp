// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/recipe.hpp"

#include "base/error.hpp"
#include "network/cut.hpp"
#include "strategy/recipe_grid.hpp"
#include "train/data_check.hpp"
#include "train/recipe_check.hpp"
#include "train/run_warnings.hpp"

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

namespace {

// 0: not known.
std::int64_t num_samples(const Recipe& recipe, const DataSets& data_sets) {
  if (recipe.data.source == DataSource::random) return recipe.data.samples;
  return data_sets.sets.empty() || !data_sets.problem.empty() ? 0 : data_sets.sets[0].count();
}

}  // namespace

std::vector<std::string> warnings_of(const Recipe& recipe, int num_ranks,
                                     const DataSets& data_sets) {
  const std::int64_t samples = num_samples(recipe, data_sets);
  if (samples == 0) return {};
  const Recipe resolved = with_strategy(recipe, num_ranks);
  std::vector<std::string> all =
      run_warnings(resolved, checked_batches(resolved, num_ranks, samples),
                   grid_shape_of(resolved, num_ranks).data);
  const std::string of_processor = processor_warning(recipe);
  if (!of_processor.empty()) all.push_back(of_processor);
  return all;
}

std::string fit_problem(const Recipe& recipe, int num_ranks, const DataSets& data_sets) {
  const std::vector<ShardSet>& sets = data_sets.sets;
  if (num_samples(recipe, data_sets) == 0) return "";
  try {
    if (sets.empty())
      checked_batches(recipe, num_ranks, num_samples(recipe, data_sets));
    else
      check_data(recipe, num_ranks, sets[0], sets.size() > 1 ? &sets[1] : nullptr);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace quern
