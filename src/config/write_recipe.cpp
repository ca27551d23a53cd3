// SPDX-License-Identifier: Apache-2.0
#include "config/write_recipe.hpp"

#include "config/recipe_keys.hpp"

namespace quern {

std::string to_toml(const Recipe& recipe) {
  std::string text;
  std::string open_table;
  for (const Key<Recipe>& key : recipe_keys()) {
    const std::string value = key.write(recipe);
    if (value.empty() || !applies(key, recipe_keys(), recipe)) continue;
    const std::size_t dot = key.path.rfind('.');
    const std::string table = dot == std::string::npos ? "" : key.path.substr(0, dot);
    if (table != open_table) text += "\n[" + table + "]\n";
    open_table = table;
    text += key.path.substr(dot == std::string::npos ? 0 : dot + 1) + " = " + value + "\n";
  }
  return text;
}

}  // namespace quern
