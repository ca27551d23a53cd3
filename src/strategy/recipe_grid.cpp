// SPDX-License-Identifier: Apache-2.0
#include "strategy/recipe_grid.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "comm/agree.hpp"

namespace quern {

namespace {

bool takes_global_statistics(const LayerSpec& layer) {
  return layer.type == LayerType::batch_norm && layer.statistics == Statistics::global;
}

}  // namespace

Recipe with_strategy(Recipe recipe, int num_ranks) {
  ParallelSpec& parallel = recipe.parallel;
  switch (parallel.strategy) {
    case SplitStrategy::by_keys:
    case SplitStrategy::data:
      break;
    case SplitStrategy::single:
      if (num_ranks == 1) break;
      throw InputError("parallel.strategy = \"single\", but " + std::to_string(num_ranks) +
                       " ranks were started (expected one)");
    case SplitStrategy::sharded:
      parallel.shard_optimizer = true;
      break;
    case SplitStrategy::pipeline:
      if (parallel.pipeline == 1) parallel.pipeline = num_ranks;
      if (parallel.micro_batches == 1 &&
          std::ranges::none_of(recipe.network.layers, takes_global_statistics))
        parallel.micro_batches = 4 * parallel.pipeline;
      break;
  }
  return recipe;
}

GridShape grid_shape_of(const Recipe& recipe, int num_ranks) {
  const ParallelSpec parallel = with_strategy(recipe, num_ranks).parallel;
  return grid_shape(num_ranks, parallel.pipeline, parallel.tensor);
}

ProcessGrid make_grid(Communicator& world, const Recipe& recipe) {
  const GridShape shape = agree(world, [&] { return grid_shape_of(recipe, world.size()); });
  return {world, shape};
}

}  // namespace quern
