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

/// What is left to an axis of the grid where another one takes `taken` ranks; what does not divide
/// is refused by grid_shape().
int rest(int num_ranks, int taken) {
  return std::max(1, num_ranks / taken);
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
      if (parallel.pipeline == 1) parallel.pipeline = rest(num_ranks, parallel.tensor);
      if (parallel.micro_batches == 1 &&
          std::ranges::none_of(recipe.network.layers, takes_global_statistics))
        parallel.micro_batches = 4 * parallel.pipeline;
      break;
    case SplitStrategy::tensor:
      if (parallel.tensor == 1) parallel.tensor = rest(num_ranks, parallel.pipeline);
      if (const std::string problem = tensor_slices_problem(recipe); !problem.empty())
        throw InputError("parallel.tensor_slices: " + problem);
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
