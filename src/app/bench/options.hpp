// SPDX-License-Identifier: Apache-2.0
// What the benchmarks share on the command line.
#pragma once

#include <string>
#include <vector>

#include "app/command_line.hpp"
#include "comm/communicator.hpp"

namespace quern {

struct BenchOptions {
  int rounds = 5;
  std::string json;  ///< file, empty for none
};

/// --rounds and --json.
void add_bench_options(CommandLine command, BenchOptions& options);

/// --set KEY=VALUE, for all recipes of the command.
void add_overrides(CommandLine command, std::vector<std::string>& overrides);

/// Collective, before anything is measured: AgreedError (exit 2) when `file` cannot be written
/// because there is no such folder. Nothing to check for "".
void check_json_file(Communicator& comm, const std::string& file);

/// Collective: rank 0 writes the document unless `file` is "". AgreedError (exit 2).
void write_json_file(Communicator& comm, const std::string& file, const std::string& document);

/// The recipes that the project's figures are about, for a command that was given none:
/// recipes/*.toml of the current folder.
std::vector<std::string> default_recipes();

/// Collective: `named`, or the default ones. AgreedError (exit 2) when those are not there.
std::vector<std::string> recipes_or_default(Communicator& comm,
                                            const std::vector<std::string>& named);

}  // namespace quern
