// SPDX-License-Identifier: Apache-2.0
#include "config/read_recipe.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "base/error.hpp"
#include "base/system_failure.hpp"
#include "config/document.hpp"
#include "config/overrides.hpp"
#include "config/recipe_change.hpp"
#include "config/recipe_keys.hpp"
#include "config/rules.hpp"
#include "config/table_reader.hpp"
#include "config/write_recipe.hpp"

namespace quern {

namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

[[noreturn]] void fail_size(const std::string& source_name) {
  throw InputError(source_name + ": is larger than 1 MiB, expected a recipe (a short TOML file)");
}

// `what`: "r.toml: cannot be read".
[[noreturn]] void fail_reading(const std::string& what, int error) {
  throw_system_failure(error, what);
  const std::string reason = error != 0 ? std::strerror(error) : "unknown reason";
  throw InputError(what + " (" + reason + "), expected a recipe file");
}

Recipe read_document(const toml::table& document, Problems& problems) {
  Recipe recipe;
  TableReader<Recipe> reader(recipe_keys(), recipe, problems);
  reader.read(document);
  check_rules(recipe, reader, problems);
  problems.throw_if_any();
  return recipe;
}

}  // namespace

// Reads at most kMaxBytes, so a pipe or an endless device is as good as a file.
std::string read_recipe_text(const std::filesystem::path& path) {
  const std::string name = path.string();
  std::error_code status_error;
  if (std::filesystem::is_directory(path, status_error)) {
    throw InputError(name + ": is a directory, expected a recipe file");
  }
  throw_system_failure(status_error.value(), name + ": cannot be opened");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) fail_reading(name + ": cannot be opened", errno);
  std::string text(kMaxBytes + 1, '\0');
  errno = 0;
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) fail_reading(name + ": cannot be read", errno);
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxBytes) fail_size(name);
  return text;
}

Recipe read_recipe(const std::filesystem::path& path, std::span<const std::string> overrides,
                   std::span<const std::string> changes) {
  return parse_recipe(read_recipe_text(path), path.string(), overrides, changes);
}

Recipe parse_recipe(std::string_view text, const std::string& source_name,
                    std::span<const std::string> overrides, std::span<const std::string> changes) {
  if (text.size() > kMaxBytes) fail_size(source_name);
  toml::table document = parse_document(text, source_name);
  Problems problems(source_name);
  for (const std::string& assignment : overrides)
    apply_override(document, assignment, kSetOption, problems);
  for (const std::string& assignment : changes) {
    const std::string key = override_key(assignment);
    const std::string problem = key.empty() ? "" : change_problem(key);
    if (problem.empty())
      apply_override(document, assignment, kChangeOption, problems);
    else
      problems.add({0, kChangeOption}, key, problem);
  }
  return read_document(document, problems);
}

Recipe checked_recipe(const Recipe& recipe) {
  Problems problems("the recipe", false);
  Recipe checked = read_document(parse_document(to_toml(recipe), "the recipe"), problems);
  // Messages name the lines of the file, not of the text that was read here.
  for (std::size_t i = 0; i < checked.network.layers.size(); ++i)
    checked.network.layers[i].recipe_line = recipe.network.layers[i].recipe_line;
  return checked;
}

}  // namespace quern
