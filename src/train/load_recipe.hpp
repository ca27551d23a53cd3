// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "config/write_recipe.hpp"
#include "spec/recipe.hpp"

namespace quern {

/// Collective: rank 0 reads the file, all ranks parse its text. AgreedError (exit 2) naming every
/// problem. `overrides`, `changes`: of read_recipe().
Recipe load_recipe(Communicator& comm, const std::string& file,
                   const std::vector<std::string>& overrides = {},
                   const std::vector<std::string>& changes = {});

/// Collective: AgreedError (exit 2) that names a rank and the first key of it that is not as on
/// rank 0, unless `recipe` is the same on all ranks. So must be `others`, which belong to it.
void check_same_recipe(Communicator& comm, const Recipe& recipe,
                       const std::vector<RecipeEntry>& others = {});

}  // namespace quern
