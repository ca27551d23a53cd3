// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "spec/recipe.hpp"

namespace quern {

/// Collective: rank 0 reads the file, all ranks parse its text. AgreedError (exit 2) naming every
/// problem.
Recipe load_recipe(Communicator& comm, const std::string& file,
                   const std::vector<std::string>& overrides = {});

}  // namespace quern
