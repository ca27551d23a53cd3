// SPDX-License-Identifier: Apache-2.0
// A program with the shard command alone.
#include <CLI/CLI.hpp>
#include <exception>

#include "app/commands.hpp"
#include "base/error.hpp"
#include "base/log.hpp"

int main(int argc, char** argv) {
  CLI::App app("shards");
  const quern::Command command = quern::add_shard_command(quern::CommandLine(app));
  app.require_subcommand(1);
  try {
    app.parse(argc, argv);
    return static_cast<int>(command.run());
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(quern::ExitCode::bad_input);
  } catch (const quern::Error& error) {
    quern::log::error(error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    quern::log::error(error.what());
    return static_cast<int>(quern::ExitCode::failure);
  }
}
