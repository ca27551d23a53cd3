// SPDX-License-Identifier: Apache-2.0
// A subcommand of the program: its options, and what it does once they are parsed.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "base/exit_code.hpp"

namespace quern {

struct Command {
  CLI::App* options = nullptr;
  std::function<ExitCode()> run;
};

}  // namespace quern
