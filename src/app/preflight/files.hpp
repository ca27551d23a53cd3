// SPDX-License-Identifier: Apache-2.0
// The folder that a run will write to.
#pragma once

#include <cstdint>
#include <string>

#include "app/preflight/info.hpp"
#include "spec/recipe.hpp"

namespace quern {

/// Rank 0: can `folder` (or where it will be) hold the checkpoints of a run: those that are kept
/// and one being written, less those that are there already? A file of one checkpoint's size, at
/// most 1 GiB, is really reserved and removed again, since quotas are not told. Writes nothing
/// else. `checkpoint_bytes`: 0 where nothing is known of them.
FileInfo inspect_run_folder(const std::string& folder, std::int64_t checkpoint_bytes, int keep,
                            bool keeps_best = false);

/// Bytes of a checkpoint of this recipe: weights and optimizer state, a little more for the rest.
/// InputError when the network does not fit together.
std::int64_t checkpoint_bytes(const Recipe& recipe);

}  // namespace quern
