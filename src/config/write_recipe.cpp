// SPDX-License-Identifier: Apache-2.0
#include "config/write_recipe.hpp"

#include <algorithm>

#include "config/layer_keys.hpp"
#include "config/recipe_keys.hpp"

namespace quern {

namespace {

constexpr const char* kNotStated = "(not stated)";

template <class Target>
void append_entries(const std::string& table, const std::vector<Key<Target>>& keys,
                    const Target& target, std::vector<RecipeEntry>& entries) {
  for (const Key<Target>& key : keys) {
    const std::string value = key.write(target);
    if (value.empty() || !applies(key, keys, target)) continue;
    entries.push_back({table + key.path, value});
  }
}

bool has_key(const std::vector<RecipeEntry>& entries, const std::string& key) {
  return std::ranges::find(entries, key, &RecipeEntry::key) != entries.end();
}

}  // namespace

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

std::vector<RecipeEntry> entries_of(const Recipe& recipe) {
  std::vector<RecipeEntry> entries;
  append_entries("", recipe_keys(), recipe, entries);
  std::erase_if(entries, [](const RecipeEntry& entry) { return entry.key == "network.layers"; });
  for (std::size_t i = 0; i < recipe.network.layers.size(); ++i) {
    append_entries("network.layers[" + std::to_string(i) + "].", layer_keys(),
                   recipe.network.layers[i], entries);
  }
  return entries;
}

std::string first_difference(const std::vector<RecipeEntry>& ours,
                             const std::vector<RecipeEntry>& theirs, const std::string& whose) {
  const auto [our, their] = std::ranges::mismatch(ours, theirs);
  const auto sentence = [&](const std::string& key, const std::string& value,
                            const std::string& their_value) {
    return key + " is " + value + ", and " + their_value + " " + whose;
  };
  const bool has_our = our != ours.end();
  if (has_our && their != theirs.end() && our->key == their->key)
    return sentence(our->key, our->value, their->value);
  if (has_our && !has_key(theirs, our->key)) return sentence(our->key, our->value, kNotStated);
  if (their != theirs.end()) return sentence(their->key, kNotStated, their->value);
  return "";
}

}  // namespace quern
