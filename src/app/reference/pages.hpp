// SPDX-License-Identifier: Apache-2.0
// Files that describe the command line. They are kept in the tree, and a test
// (unit.app.reference) says when they are not what these functions return.
#pragma once

#include <string>
#include <vector>

#include "app/reference/options.hpp"

namespace quern {

/// docs/quern.1
std::string man_page(const CommandInfo& program);

/// scripts/quern-completion.bash. `recipe_keys`: for --set and --change.
std::string bash_completion(const CommandInfo& program,
                            const std::vector<std::string>& recipe_keys);

}  // namespace quern
