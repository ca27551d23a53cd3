// SPDX-License-Identifier: Apache-2.0
#include "strategy/recipe_grid.hpp"

#include "comm/agree.hpp"

namespace quern {

GridShape grid_shape_of(const Recipe& recipe, int num_ranks) {
  return grid_shape(num_ranks, recipe.parallel.pipeline, recipe.parallel.tensor);
}

ProcessGrid make_grid(Communicator& world, const Recipe& recipe) {
  const GridShape shape = agree(world, [&] { return grid_shape_of(recipe, world.size()); });
  return {world, shape};
}

}  // namespace quern
