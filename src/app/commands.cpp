// SPDX-License-Identifier: Apache-2.0
#include "app/commands.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <thread>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "base/version.hpp"

namespace quern {

const Command& parsed_command(const std::vector<Command>& commands) {
  const auto found = std::find_if(commands.begin(), commands.end(), [](const Command& command) {
    return command.options.is_parsed();
  });
  expect(found != commands.end(), "a line of which a command was required");
  return *found;
}

ExitCode refuse_start(bool speaks, const std::string& problem) {
  if (speaks) {
    log::error(problem);
  } else {
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  return ExitCode::bad_input;
}

std::vector<Command> add_commands(CLI::App& app) {
  app.name("quern");
  app.description("Quern trains neural networks, bit-identically for any number of ranks.");
  app.set_version_flag("--version",
                       std::string("quern ") + version() + " (commit " + git_commit() + ")",
                       "Print the version and exit");
  app.require_subcommand(1);
  const CommandLine line(app);
  return {add_train_command(line),    add_evaluate_command(line),   add_predict_command(line),
          add_watch_command(line),    add_metrics_command(line),    add_shard_command(line),
          add_data_command(line),     add_checkpoint_command(line), add_import_command(line),
          add_plan_command(line),     add_bench_command(line),      add_info_command(line),
          add_preflight_command(line)};
}

}  // namespace quern
