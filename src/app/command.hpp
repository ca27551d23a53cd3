// SPDX-License-Identifier: Apache-2.0
// A command of the program: its options, and what it does once they are parsed.
#pragma once

#include <functional>

#include "app/command_line.hpp"
#include "base/exit_code.hpp"

namespace quern {

struct Command {
  CommandLine options;
  std::function<ExitCode()> run;
};

}  // namespace quern
