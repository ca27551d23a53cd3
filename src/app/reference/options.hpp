// SPDX-License-Identifier: Apache-2.0
// The command line as plain data, for the pages that describe it.
#pragma once

#include <string>
#include <vector>

#include "app/commands.hpp"

namespace quern {

struct OptionInfo {
  std::string name;     ///< "--run-dir", "recipe"
  std::string value;    ///< "DIR", "auto|never|FILE"; "" for a flag
  std::string meaning;  ///< a sentence
  bool is_positional = false;
  bool is_required = false;
};

struct CommandInfo {
  std::string path;  ///< "train", "bench kernels"; "" for the program itself
  std::string meaning;
  std::vector<OptionInfo> options;  ///< without --help
  std::vector<CommandInfo> children;
};

/// Of `app` and, in order, all below it.
CommandInfo info_of(const CLI::App& app, const std::string& path = "");

}  // namespace quern
