// SPDX-License-Identifier: Apache-2.0
// Options that several commands have.
#pragma once

#include <string>
#include <vector>

#include "app/command_line.hpp"

namespace quern {

/// --set, of commands that read a recipe.
void add_set_option(CommandLine command, std::vector<std::string>& overrides);

/// --split, of commands that read a folder of shards.
void add_split_option(CommandLine command, std::string& split);

}  // namespace quern
