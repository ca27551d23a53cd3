// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "spec/recipe.hpp"

namespace quern {

/// The resolved recipe: every key that applies, defaults included, in a fixed order. Reads back as
/// an equal Recipe; run folders and checkpoints keep this text.
std::string to_toml(const Recipe& recipe);

}  // namespace quern
