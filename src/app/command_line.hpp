// SPDX-License-Identifier: Apache-2.0
// The command line as commands declare it. CLI11 is behind it, in one source file: compiling its
// header takes longer than compiling a command.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
class Option;
}  // namespace CLI

namespace quern {

/// An option, argument or flag. Every call returns the option itself.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  Option& required();
  /// What the help calls the value: "FILE".
  Option& type_name(const std::string& name);
  /// The help shows the value that the variable has now.
  Option& show_default();
  /// Of a list: may be repeated, with one value each time.
  Option& one_value_each();
  Option& excludes(const Option& other);
  /// Wrong usage without the other.
  Option& needs(const Option& other);
  // What else is wrong usage:
  Option& in_range(std::int64_t least, std::int64_t most);
  Option& not_negative();
  Option& not_empty();
  Option& one_of(const std::vector<std::string>& values);

  /// Did the command line have it? Once that is parsed.
  bool is_given() const;

 private:
  CLI::Option* option_;
};

/// The program or one of its commands. A name without dashes is an argument. Parsing writes to the
/// variables, which must live until then.
class CommandLine {
 public:
  explicit CommandLine(CLI::App& app) : app_(&app) {}

  CommandLine add_command(const std::string& name, const std::string& description);
  Option add_option(const std::string& name, std::string& value, const std::string& description);
  Option add_option(const std::string& name, int& value, const std::string& description);
  Option add_option(const std::string& name, double& value, const std::string& description);
  Option add_option(const std::string& name, std::vector<std::string>& values,
                    const std::string& description);
  Option add_option(const std::string& name, std::vector<double>& values,
                    const std::string& description);
  /// Sizes from 4 bytes to 4 GiB: 4096, 64K, 16M, separated by commas.
  Option add_byte_sizes(const std::string& name, std::vector<std::uint64_t>& bytes,
                        const std::string& description);
  Option add_flag(const std::string& name, bool& value, const std::string& description);

  /// One of the commands has to follow.
  void require_command();
  /// Keeps the variables alive as long as the parser.
  void keep(std::shared_ptr<const void> variables);
  /// Was this command asked for?
  bool is_parsed() const;

 private:
  CLI::App* app_;
};

}  // namespace quern
