// SPDX-License-Identifier: Apache-2.0
// What the benchmarks share on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "comm/communicator.hpp"

namespace quern {

struct BenchOptions {
  int rounds = 5;
  std::string json;  ///< file, empty for none
};

/// --rounds and --json.
void add_bench_options(CLI::App& command, BenchOptions& options);

/// --set KEY=VALUE, for all recipes of the command.
void add_overrides(CLI::App& command, std::vector<std::string>& overrides);

/// A list of sizes: 4096, 64K, 16M, separated by commas.
CLI::Option* add_byte_list(CLI::App& command, const std::string& name,
                           std::vector<std::uint64_t>& bytes, const std::string& description);

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
