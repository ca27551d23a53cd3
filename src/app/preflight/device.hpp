// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "spec/recipe.hpp"

namespace quern {

/// What runs this rank's kernels. Kokkos must be running.
struct DeviceFacts {
  std::string name;
  std::string id;  ///< unique among the devices of all nodes; empty for host back ends
};

DeviceFacts device_of_this_rank();

/// Bytes of a checkpoint of this recipe: weights and optimizer state, a little more for the rest.
/// InputError when the network does not fit together.
std::int64_t checkpoint_bytes(const Recipe& recipe);

}  // namespace quern
