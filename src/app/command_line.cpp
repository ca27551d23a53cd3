// SPDX-License-Identifier: Apache-2.0
#include "app/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <utility>

namespace quern {

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::type_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option& Option::show_default() {
  option_->capture_default_str();
  return *this;
}

Option& Option::one_value_each() {
  option_->allow_extra_args(false);
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option& Option::needs(const Option& other) {
  option_->needs(other.option_);
  return *this;
}

Option& Option::in_range(std::int64_t least, std::int64_t most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option& Option::not_negative() {
  // CLI11's own check prints the largest double in full.
  option_->check([](const std::string& text) {
    double value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = error == std::errc() && rest == text.data() + text.size();
    if (is_number && std::isfinite(value) && value >= 0) return std::string();
    return fmt::format("'{}' is no number of at least 0", text);
  });
  return *this;
}

Option& Option::not_empty() {
  option_->check([](const std::string& value) {
    return value.empty() ? std::string("is empty (a variable that was not set?)") : std::string();
  });
  return *this;
}

Option& Option::one_of(const std::vector<std::string>& values) {
  option_->check(CLI::IsMember(values));
  return *this;
}

bool Option::is_given() const {
  return option_->count() > 0;
}

CommandLine CommandLine::add_command(const std::string& name, const std::string& description) {
  return CommandLine(*app_->add_subcommand(name, description));
}

Option CommandLine::add_option(const std::string& name, std::string& value,
                               const std::string& description) {
  return Option(*app_->add_option(name, value, description));
}

Option CommandLine::add_option(const std::string& name, int& value,
                               const std::string& description) {
  return Option(*app_->add_option(name, value, description));
}

Option CommandLine::add_option(const std::string& name, double& value,
                               const std::string& description) {
  return Option(*app_->add_option(name, value, description));
}

Option CommandLine::add_option(const std::string& name, std::vector<std::string>& values,
                               const std::string& description) {
  return Option(*app_->add_option(name, values, description));
}

Option CommandLine::add_option(const std::string& name, std::vector<double>& values,
                               const std::string& description) {
  return Option(*app_->add_option(name, values, description));
}

Option CommandLine::add_byte_sizes(const std::string& name, std::vector<std::uint64_t>& bytes,
                                   const std::string& description) {
  constexpr std::uint64_t kMost = std::uint64_t{4} << 30;
  return Option(*app_->add_option(name, bytes, description)
                     ->type_name("BYTES[K|M|G],...")
                     ->delimiter(',')
                     ->allow_extra_args(false)
                     ->transform(CLI::AsSizeValue(false))
                     ->check(CLI::Range(std::uint64_t{4}, kMost)));
}

Option CommandLine::add_flag(const std::string& name, bool& value, const std::string& description) {
  return Option(*app_->add_flag(name, value, description));
}

void CommandLine::require_command() {
  app_->require_subcommand(1);
}

void CommandLine::keep(std::shared_ptr<const void> variables) {
  app_->callback([kept = std::move(variables)] {});
}

bool CommandLine::is_parsed() const {
  return app_->parsed();
}

}  // namespace quern
