// SPDX-License-Identifier: Apache-2.0
// From TOML text to a Recipe with every default filled in. docs/recipe-keys.md lists the keys.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "spec/recipe.hpp"

namespace quern {

/// Reads a recipe file. Each override is one --set option, "key.path=value": the value is taken as
/// TOML, or as a string when it is not; layers are named by number (from 0) or by name
/// ("network.layers.conv1.channels=8"). An override of data.global_batch takes the place of the
/// recipe's data.batch_per_rank, and the other way round. Each of `changes` is one --change option,
/// written like these, which wins over them; its key must be one that may change in a run that is
/// resumed (recipe_change.hpp).
///
/// Throws one InputError with a line for every problem found: "<file>:<line>: <key>: <what>".
Recipe read_recipe(const std::filesystem::path& path, std::span<const std::string> overrides = {},
                   std::span<const std::string> changes = {});

/// The text of a recipe file; InputError when it cannot be read or is too large to be one,
/// SystemFailure where a disk or a file server fails.
std::string read_recipe_text(const std::filesystem::path& path);

/// The same from text that is already in memory; messages call it `source_name`.
Recipe parse_recipe(std::string_view text, const std::string& source_name,
                    std::span<const std::string> overrides = {},
                    std::span<const std::string> changes = {});

/// A recipe that a program has filled in, as its text (to_toml) reads: keys that do not apply have
/// their defaults. InputError as above, "the recipe: <key>: <what>".
Recipe checked_recipe(const Recipe& recipe);

}  // namespace quern
