// SPDX-License-Identifier: Apache-2.0
#include "app/reference/options.hpp"

#include <CLI/CLI.hpp>

namespace quern {

namespace {

OptionFacts facts_of(const CLI::Option& option) {
  OptionFacts facts;
  facts.is_positional = option.get_positional();
  facts.name = option.get_name(facts.is_positional);
  facts.is_required = option.get_required();
  facts.meaning = option.get_description();
  if (option.get_items_expected_max() == 0) return facts;  // a flag
  // "INT:INT in [1 - 9]", "UINT:SIZE:UINT in [4 - 9]": the type, and how it is checked.
  const std::string type = option.get_type_name();
  const std::string checks = type.substr(type.find(':') + 1);
  facts.value = checks.substr(0, checks.find(':'));
  return facts;
}

}  // namespace

CommandFacts facts_of(const CLI::App& app, const std::string& path) {
  CommandFacts facts{path, app.get_description(), {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option != app.get_help_ptr()) facts.options.push_back(facts_of(*option));
  }
  for (const CLI::App* child : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string name = child->get_name();
    facts.children.push_back(facts_of(*child, path.empty() ? name : path + " " + name));
  }
  return facts;
}

}  // namespace quern
