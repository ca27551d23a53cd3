// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/probes.hpp"
#include "base/error.hpp"
#include "network/cut.hpp"
#include "strategy/recipe_grid.hpp"

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

}  // namespace quern
