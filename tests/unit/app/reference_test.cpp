// SPDX-License-Identifier: Apache-2.0
// The manual page and the completion of bash say what the program's options say. When they are out
// of date, run this test with QUERN_UPDATE_DOCS=1.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "app/commands.hpp"
#include "app/reference/pages.hpp"
#include "config/layer_keys.hpp"
#include "config/recipe_keys.hpp"
#include "support/source_folder.hpp"

namespace quern {
namespace {

CommandInfo program() {
  CLI::App app;
  add_commands(app);
  return info_of(app);
}

std::vector<std::string> keys() {
  std::vector<std::string> names;
  for (const auto& key : recipe_keys())
    if (key.path != "network.layers") names.push_back(key.path);
  return names;
}

void expect_file(const std::string& name, const std::string& text) {
  const std::filesystem::path path = test::source_folder() / name;
  if (std::getenv("QUERN_UPDATE_DOCS") != nullptr) std::ofstream(path) << text;
  std::stringstream stated;
  stated << std::ifstream(path).rdbuf();
  EXPECT_EQ(stated.str(), text) << "run this test with QUERN_UPDATE_DOCS=1 and commit " << name;
}

TEST(Reference, ManPageIsThatOfTheProgram) {
  expect_file("docs/quern.1", man_page(program()));
}

TEST(Reference, CompletionIsThatOfTheProgram) {
  expect_file("scripts/quern-completion.bash", bash_completion(program(), keys()));
}

void expect_all_explained(const CommandInfo& command) {
  EXPECT_NE(command.meaning, "") << command.path;
  for (const OptionInfo& option : command.options) {
    EXPECT_NE(option.meaning, "") << command.path << " " << option.name;
    // What the library says of an option that does not tell what its value is.
    EXPECT_TRUE(option.is_positional || option.value != "TEXT")
        << command.path << " " << option.name;
  }
  for (const CommandInfo& child : command.children) expect_all_explained(child);
}

TEST(Reference, EveryCommandAndOptionIsExplained) {
  const CommandInfo info = program();
  EXPECT_EQ(info.children.size(), 13u);
  expect_all_explained(info);
}

}  // namespace
}  // namespace quern
