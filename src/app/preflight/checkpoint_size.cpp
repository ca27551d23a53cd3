// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/checkpoint_size.hpp"

#include "optim/optimizer.hpp"
#include "train/model.hpp"

namespace quern {

std::int64_t checkpoint_bytes(const Recipe& recipe) {
  const Model model(recipe);
  const std::int64_t arrays = 1 + num_state_arrays(recipe.optimizer);
  const std::int64_t parameters = model.network().table().num_parameters();
  return parameters * arrays * std::int64_t{sizeof(float)} + (std::int64_t{1} << 16);
}

}  // namespace quern
