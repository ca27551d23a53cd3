// SPDX-License-Identifier: Apache-2.0
#include "bench/lone_step.hpp"

#include <algorithm>

#include "comm/agree.hpp"
#include "strategy/recipe_grid.hpp"
#include "train/load_recipe.hpp"

namespace quern {

Recipe recipe_of_batch(Communicator& comm, const std::string& file,
                       const std::vector<std::string>& overrides, int ranks, int micro_block,
                       int batch) {
  std::vector<std::string> settings = overrides;
  settings.push_back("data.global_batch=" + std::to_string(batch));
  settings.push_back("train.micro_block=" + std::to_string(std::min(micro_block, batch)));
  return agree(comm, [given = load_recipe(comm, file, settings), ranks] {
    return with_strategy(given, ranks);
  });
}

}  // namespace quern
