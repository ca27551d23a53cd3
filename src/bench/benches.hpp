// SPDX-License-Identifier: Apache-2.0
// The benchmarks after `quern bench`. Each is collective, prints a table and writes the figures as
// a JSON document (benchmarks/README.md) where one is asked for. AgreedError (exit 2) on wrong
// input.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/exit_code.hpp"
#include "comm/communicator.hpp"

namespace quern {

struct BenchOptions {
  int rounds = 5;
  std::string json;                    ///< file, empty for none
  std::vector<std::string> overrides;  ///< KEY=VALUE, for all recipes
};

struct KernelsOptions : BenchOptions {
  std::vector<std::string> recipes;
  std::string filter;  ///< shows kernels whose "layer label" this regular expression finds
  int steps = 0;       ///< of a round; 0: as many as take long enough
};
/// Where the time of a training step goes, kernel by kernel.
ExitCode bench_kernels(Communicator& comm, const KernelsOptions& options);

struct StepOptions : BenchOptions {
  std::string recipe;
  int steps = 0;  ///< of a round; 0: as many as take long enough
  int warmup = 20;
};
/// Whole training steps of a recipe.
ExitCode bench_step(Communicator& comm, const StepOptions& options);

struct AllreduceOptions : BenchOptions {
  std::vector<std::string> recipes;
  std::vector<std::uint64_t> bytes;
  std::string mode = "both";  ///< "rank-invariant", "fast"
  int blocks = 8;             ///< as many as a batch has by default, at least
  bool after_step = false;    ///< those of recipes after a step of each rank, too
};
/// The sum of the gradients over the ranks.
ExitCode bench_allreduce(Communicator& comm, const AllreduceOptions& options);

struct IoOptions : BenchOptions {
  std::vector<std::string> recipes;
  std::vector<std::uint64_t> bytes;
  std::string data;
  std::string run_dir = ".";
};
/// Shards and checkpoints against plain files.
ExitCode bench_io(Communicator& comm, const IoOptions& options);

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
