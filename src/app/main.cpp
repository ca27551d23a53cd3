// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <vector>

#include "app/bench_command.hpp"
#include "app/checkpoint_command.hpp"
#include "app/evaluate_command.hpp"
#include "app/info_command.hpp"
#include "app/predict_command.hpp"
#include "app/shard_command.hpp"
#include "app/train_command.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/version.hpp"

namespace {

// The program's own errors; those of commands that run on ranks are handled there.
quern::ExitCode run(const quern::Command& command) {
  try {
    return command.run();
  } catch (const quern::Error& error) {
    quern::log::error(error.what());
    return error.code();
  } catch (const std::exception& error) {
    quern::log::error(error.what());
    return quern::ExitCode::failure;
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Quern trains neural networks on supercomputers.", "quern");
  app.set_version_flag("--version", std::string("quern ") + quern::version());
  app.require_subcommand(1);
  const std::vector<quern::Command> commands = {
      quern::add_train_command(app),      quern::add_evaluate_command(app),
      quern::add_predict_command(app),    quern::add_shard_command(app),
      quern::add_checkpoint_command(app), quern::add_bench_command(app),
      quern::add_info_command(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool asked_for_help = error.get_exit_code() == 0;
    app.exit(error);
    return static_cast<int>(asked_for_help ? quern::ExitCode::done : quern::ExitCode::bad_input);
  }
  for (const quern::Command& command : commands) {
    if (command.options->parsed()) return static_cast<int>(run(command));
  }
  return static_cast<int>(quern::ExitCode::bad_input);
}
