// SPDX-License-Identifier: Apache-2.0
#include "app/reference/options.hpp"

#include <CLI/CLI.hpp>

namespace quern {

namespace {

OptionInfo info_of(const CLI::Option& option) {
  OptionInfo info;
  info.is_positional = option.get_positional();
  info.name = option.get_name(info.is_positional);
  info.is_required = option.get_required();
  info.meaning = option.get_description();
  if (option.get_items_expected_max() == 0) return info;  // a flag
  const std::string standard = option.get_default_str();
  if (!standard.empty() && info.meaning.find("(default") == std::string::npos)
    info.meaning += " (default: " + standard + ")";
  // "INT:INT in [1 - 9]", "BYTES:SIZE:UINT in [4 - 9]": the type, and how it is checked. A check
  // says more than a type of the library.
  const std::string type = option.get_type_name();
  const std::string name = type.substr(0, type.find(':'));
  const bool is_plain = name == "INT" || name == "UINT" || name == "FLOAT" || name == "TEXT";
  const std::string checks = type.substr(type.find(':') + 1);
  const std::string check = checks.substr(0, checks.find(':'));
  const std::size_t range = check.find(" in [");
  info.value = is_plain ? check : range == std::string::npos ? name : name + check.substr(range);
  return info;
}

}  // namespace

CommandInfo info_of(const CLI::App& app, const std::string& path) {
  CommandInfo info{path, app.get_description(), {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option != app.get_help_ptr()) info.options.push_back(info_of(*option));
  }
  for (const CLI::App* child : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string name = child->get_name();
    info.children.push_back(info_of(*child, path.empty() ? name : path + " " + name));
  }
  return info;
}

}  // namespace quern
