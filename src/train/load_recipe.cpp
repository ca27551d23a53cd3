// SPDX-License-Identifier: Apache-2.0
#include "train/load_recipe.hpp"

#include <cstddef>
#include <utility>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "config/read_recipe.hpp"

namespace quern {

namespace {

std::string text_of(const std::vector<RecipeEntry>& entries) {
  std::string text;
  for (const RecipeEntry& entry : entries) text += entry.key + '\0' + entry.value + '\0';
  return text;
}

std::vector<RecipeEntry> entries_of(const std::string& text) {
  std::vector<RecipeEntry> entries;
  std::size_t begin = 0;
  const auto next = [&] {
    const std::size_t end = text.find('\0', begin);
    std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    return word;
  };
  while (begin < text.size()) {
    std::string key = next();
    entries.push_back({std::move(key), next()});
  }
  return entries;
}

}  // namespace

Recipe load_recipe(Communicator& comm, const std::string& file,
                   const std::vector<std::string>& overrides,
                   const std::vector<std::string>& changes) {
  std::string text;
  run_on_root(comm, [&] { text = read_recipe_text(file); });
  text = broadcast_string(comm, text);
  return agree(comm, [&] { return parse_recipe(text, file, overrides, changes); });
}

void check_same_recipe(Communicator& comm, const Recipe& recipe,
                       const std::vector<RecipeEntry>& others) {
  if (comm.size() == 1) return;
  std::vector<RecipeEntry> mine = entries_of(recipe);
  mine.insert(mine.end(), others.begin(), others.end());
  const std::string first = broadcast_string(comm, text_of(mine));
  agree(comm, [&] {
    const std::string difference = first_difference(mine, entries_of(first), "on rank 0");
    if (difference.empty()) return;
    throw InputError("the recipe is not the same on all ranks: " + difference +
                     " (expected that every rank brings the same)");
  });
}

}  // namespace quern
