// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "spec/recipe.hpp"

namespace quern {

/// The resolved recipe: every key that applies, defaults included, in a fixed order. Reads back as
/// an equal Recipe; run folders and checkpoints keep this text.
std::string to_toml(const Recipe& recipe);

/// A key by its full name, "network.layers[2].channels", and its value as TOML.
struct RecipeEntry {
  std::string key;
  std::string value;
  friend bool operator==(const RecipeEntry&, const RecipeEntry&) = default;
};

/// What to_toml() writes, key by key: two recipes with the same entries are the same run.
std::vector<RecipeEntry> entries_of(const Recipe& recipe);

/// The first entry that is not the same: "optimizer.lr is 0.5, and 0.01 on rank 0", where `theirs`
/// are called "on rank 0"; "" where all are.
std::string first_difference(const std::vector<RecipeEntry>& ours,
                             const std::vector<RecipeEntry>& theirs, const std::string& whose);

}  // namespace quern
