// SPDX-License-Identifier: Apache-2.0
// The commands of the program. Each adds itself to a command line; NAME_command.cpp defines it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/command_line.hpp"
#include "base/exit_code.hpp"

namespace quern {

/// What a launcher that starts several processes makes of a command.
enum class Started {
  alone,     ///< each process works for itself, and speaks
  as_ranks,  ///< they work together, and the first one speaks
};

/// A command: its options, and what it does once they are parsed.
struct Command {
  CommandLine options;
  std::function<ExitCode()> run;
  Started started = Started::alone;
};

/// Of commands of which one is required, the one that was asked for.
const Command& parsed_command(const std::vector<Command>& commands);

/// Of a start that cannot work: this rank says why if it `speaks`, else it waits until the one that
/// does has. Launchers end all ranks once one has failed.
ExitCode refuse_start(bool speaks, const std::string& problem);

Command add_train_command(CommandLine app);
Command add_evaluate_command(CommandLine app);
Command add_predict_command(CommandLine app);
/// A live view of a run folder.
Command add_watch_command(CommandLine app);
/// The figures of a run folder as CSV or for TensorBoard.
Command add_metrics_command(CommandLine app);
/// Samples of other formats to HDF5 shards.
Command add_shard_command(CommandLine app);
/// ls, show, verify, hash, diff, export: inspects checkpoints, never changes one. A run folder
/// stands for its newest checkpoint, for `ls` and `verify` for all of them.
Command add_checkpoint_command(CommandLine app);
/// Weights from elsewhere to a checkpoint.
Command add_import_command(CommandLine app);
/// What a step takes on many nodes: the model of docs/scaling.md.
Command add_plan_command(CommandLine app);
/// kernels, step, allreduce, io: the room bench.
Command add_bench_command(CommandLine app);
/// show: what is in a set of shards.
Command add_data_command(CommandLine app);
Command add_info_command(CommandLine app);
Command add_preflight_command(CommandLine app);

/// Makes `app` the command line of the program `quern`; the commands, in the order of --help.
/// Descriptions of `app` and its options are also what the manual page and the completion of bash
/// say (app/reference/).
std::vector<Command> add_commands(CLI::App& app);

}  // namespace quern
