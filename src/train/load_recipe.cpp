// SPDX-License-Identifier: Apache-2.0
#include "train/load_recipe.hpp"

#include <cstddef>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "config/read_recipe.hpp"

namespace quern {

namespace {

// Those of rank 0.
std::vector<RecipeEntry> broadcast_entries(Communicator& comm,
                                           const std::vector<RecipeEntry>& entries) {
  std::vector<std::string> words;
  for (const RecipeEntry& entry : entries) words.insert(words.end(), {entry.key, entry.value});
  words = broadcast_strings(comm, words);
  std::vector<RecipeEntry> first;
  for (std::size_t i = 0; i < words.size(); i += 2) first.push_back({words[i], words[i + 1]});
  return first;
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
  const std::vector<RecipeEntry> first = broadcast_entries(comm, mine);
  agree(comm, [&] {
    const std::string difference = first_difference(mine, first, "on rank 0");
    if (difference.empty()) return;
    throw InputError("the recipe is not the same on all ranks: " + difference +
                     " (expected that every rank brings the same)");
  });
}

}  // namespace quern
