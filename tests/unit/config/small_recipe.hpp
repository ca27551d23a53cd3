// SPDX-License-Identifier: Apache-2.0
// Recipes for tests, and what is wrong with them.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "config/read_recipe.hpp"

namespace quern {

/// A good recipe whose lines are known to the tests.
inline const std::string kSmallRecipe = R"(name = "small"

[data]
train = "shards"
global_batch = 32

[network]
input = [1, 28, 28]
layers = [
  {type = "conv2d", channels = 4, kernel = 3},
  {type = "relu"},
  {type = "max_pool2d", size = 2},
  {type = "flatten"},
  {type = "linear", features = 10},
]

[loss]
type = "cross_entropy"

[optimizer]
type = "sgd"
lr = 0.1
)";

/// `text` with the first `before` replaced by `after`; `before` must be there.
inline std::string replaced(std::string text, const std::string& before, const std::string& after) {
  return text.replace(text.find(before), before.size(), after);
}

/// The small recipe with one place changed.
inline std::string small_recipe(const std::string& before, const std::string& after) {
  return replaced(kSmallRecipe, before, after);
}

/// The message of the InputError, "" when the recipe is good.
inline std::string error_of(const std::string& text, const std::vector<std::string>& sets = {}) {
  try {
    parse_recipe(text, "r.toml", sets);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

inline auto lines_of(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

}  // namespace quern
