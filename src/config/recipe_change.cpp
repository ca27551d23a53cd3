// SPDX-License-Identifier: Apache-2.0
#include "config/recipe_change.hpp"

#include <algorithm>

#include "config/nearest_name.hpp"
#include "config/other_names.hpp"
#include "config/overrides.hpp"
#include "config/recipe_keys.hpp"

namespace quern {

namespace {

bool is_or_holds(const std::string& table, const std::string& key) {
  return key == table || key.starts_with(table + ".");
}

// The last part of `key` as a name in its table, in another one, and in other programs.
std::string suggestion(const std::string& key, const std::vector<std::string>& known) {
  const std::size_t dot = key.rfind('.') + 1;  // 0: none
  const std::string table = key.substr(0, dot);
  const std::string name = key.substr(dot);
  std::vector<std::string> meant;
  std::vector<std::string> neighbours;
  for (const std::string& path : known) {
    if (path == name || path.ends_with("." + name)) meant.push_back(path);
    if (path.starts_with(table)) neighbours.push_back(path.substr(dot));
  }
  for (const std::string_view path : keys_meant_by(name))
    if (std::ranges::find(known, path) != known.end()) meant.emplace_back(path);
  const std::string nearest = nearest_name(name, neighbours);
  if (meant.empty() && !nearest.empty()) meant.push_back(table + nearest);
  return meant.empty() ? suggest_name("", known) : "(did you mean '" + meant.front() + "'?)";
}

}  // namespace

std::string change_problem(const std::string& key) {
  std::vector<std::string> changeable;
  bool is_known = false;
  bool is_kept = false;
  for (const Key<Recipe>& known : recipe_keys()) {
    const bool may_change = known.may_change != MayChange::never;
    if (may_change) changeable.push_back(known.path);
    // Layers are entries of one key.
    if (!is_or_holds(key, known.path) && !is_or_holds(known.path, key)) continue;
    is_known = true;
    is_kept = is_kept || !may_change;
  }
  if (!is_known) return "unknown key " + suggestion(key, changeable);
  if (!is_kept) return "";
  return "cannot change in a run that is resumed (expected a setting of the optimizer other than "
         "its type, or a key that may change anyway, such as train.epochs)";
}

std::vector<std::string> changed_keys(std::span<const std::string> changes) {
  std::vector<std::string> keys;
  for (const std::string& change : changes) keys.push_back(override_key(change));
  return keys;
}

bool is_among(const std::string& key, std::span<const std::string> keys) {
  return std::ranges::any_of(keys,
                             [&](const std::string& table) { return is_or_holds(table, key); });
}

}  // namespace quern
