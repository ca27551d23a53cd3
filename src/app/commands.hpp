// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "app/command.hpp"

namespace quern {

/// Makes `app` the command line of the program `quern`; the commands, in the order of --help.
/// Descriptions of `app` and its options are also what the manual page and the completion of bash
/// say (app/reference/).
std::vector<Command> add_commands(CLI::App& app);

}  // namespace quern
