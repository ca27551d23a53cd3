// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "spec/recipe.hpp"

namespace quern {

/// Bytes of a checkpoint of this recipe: weights and optimizer state, a little more for the rest.
/// InputError when the network does not fit together.
std::int64_t checkpoint_bytes(const Recipe& recipe);

}  // namespace quern
