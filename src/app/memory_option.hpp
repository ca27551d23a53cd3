// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/command_line.hpp"
#include "spec/recipe.hpp"

namespace quern {

/// --memory, of commands that stream a set.
void add_memory_option(CommandLine command, std::string& memory);

/// `data` with what --memory says in place of data.memory. InputError where it is no size.
DataSpec with_memory(DataSpec data, const std::string& memory);

/// For messages: what says how much memory that is, and how to say it.
std::string memory_name(const std::string& memory);

}  // namespace quern
