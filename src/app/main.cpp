// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "app/kernel_level.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "comm/launch.hpp"
#include "config/nearest_name.hpp"
#include "config/recipe_keys.hpp"
#include "cpu/choice.hpp"

namespace {

// A daemon may start the program with closed streams: what it prints would go to the first files
// that it opens, which get their numbers.
void open_standard_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (fcntl(stream, F_GETFD) == -1) open("/dev/null", O_RDWR);  // the lowest free number
  }
}

// The program's own errors; those of commands that run on ranks are handled there.
quern::ExitCode run(const quern::Command& command) {
  try {
    quern::take_kernels();
    return command.run();
  } catch (const quern::Error& error) {
    quern::log::error(error.what());
    return error.code();
  } catch (const std::exception& error) {
    quern::log::error(error.what());
    return quern::ExitCode::failure;
  }
}

// The command that was being read, or the program.
const CLI::App& innermost(const CLI::App& app) {
  const std::vector<CLI::App*> given = app.get_subcommands();
  return given.empty() ? app : innermost(*given.back());
}

// "quern checkpoint show"
std::string full_name(const CLI::App& command) {
  const CLI::App* above = command.get_parent();
  return (above ? full_name(*above) + " " : "") + command.get_name();
}

// "--set train.epochs=...", where an option is none but one key of recipes has its name.
std::string key_hint(const CLI::App& command, const std::string& name) {
  if (!command.get_option_no_throw("--set")) return "";
  std::vector<std::string> paths;
  for (const quern::Key<quern::Recipe>& key : quern::recipe_keys()) {
    if (key.path.substr(key.path.rfind('.') + 1) == name) paths.push_back(key.path);
  }
  return paths.size() == 1 ? " (the key of a recipe: --set " + paths[0] + "=VALUE)" : "";
}

// The first option that the command does not have, else the first word that is too many.
std::string unexpected_word(const CLI::App& command, std::vector<std::string> words) {
  if (std::erase(words, "--") > 0 && words.empty()) words = {"--"};
  const auto option = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word.size() > 1 && word.starts_with('-');
  });
  if (option == words.end())
    return "'" + quern::printable(words.front()) + "' is one word too many";
  const std::string word = option->substr(0, option->find('='));
  std::vector<std::string> known;
  for (const CLI::Option* own : command.get_options()) {
    for (const std::string& name : own->get_lnames()) known.push_back("--" + name);
  }
  const std::string name = word.substr(std::min(word.size(), word.find_first_not_of('-')));
  std::string underscored = name;
  std::replace(underscored.begin(), underscored.end(), '-', '_');
  const std::string nearest = quern::nearest_name(word, known);
  return "there is no option '" + quern::printable(word) + "'" +
         (nearest.empty() ? key_hint(command, underscored) : " (did you mean '" + nearest + "'?)");
}

std::string usage_problem(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& asked = innermost(app);
  const std::vector<std::string> rest = asked.remaining();
  std::string known;
  for (const CLI::App* command : asked.get_subcommands([](const CLI::App*) { return true; })) {
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  std::string problem = error.what();
  const bool is_option = !rest.empty() && rest.front().size() > 1 && rest.front().starts_with('-');
  if (!rest.empty() && (known.empty() || is_option)) {
    problem = unexpected_word(asked, rest);
  } else if (!rest.empty()) {
    problem = "there is no command '" + rest.front() + "'" +
              (&asked == &app ? "" : " of '" + asked.get_name() + "'") + " (known: " + known + ")";
  }
  return problem + "; " + full_name(asked) + " --help prints the usage";
}

// Help, or wrong usage.
quern::ExitCode report(const CLI::App& app, const CLI::ParseError& error, bool speaks) {
  if (error.get_exit_code() == 0) {
    if (speaks) app.exit(error);
    return quern::ExitCode::done;
  }
  return quern::refuse_start(speaks, usage_problem(app, error));
}

// Is a command given that several processes run each for itself?
bool works_alone(const std::vector<quern::Command>& commands) {
  return std::any_of(commands.begin(), commands.end(), [](const quern::Command& command) {
    return command.options.is_parsed() && command.started == quern::Started::alone;
  });
}

// Before constructors of other static objects, which may use any instruction already.
[[gnu::constructor(101)]] void require_processor() {
  quern::cpu::require(quern::cpu::compiled_level());
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  // A file that grows past a limit (ulimit -f) is an error of writing, like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  const int launched_rank = quern::read_launch().rank;
  CLI::App app;
  const std::vector<quern::Command> commands = quern::add_commands(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Ranks are all started with the same words.
    return static_cast<int>(report(app, error, launched_rank == 0 || works_alone(commands)));
  }
  const quern::Command& command = quern::parsed_command(commands);
  if (command.started == quern::Started::as_ranks) quern::log::set_rank(launched_rank);
  return static_cast<int>(run(command));
}
