// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "app/preflight/facts.hpp"
#include "spec/recipe.hpp"

namespace quern {

/// Rank 0: can `folder` (or where it will be) hold the checkpoints of a run? A file of one
/// checkpoint's size, at most 1 GiB, is really reserved and removed again, since quotas are not
/// told. Writes nothing else.
FileFacts inspect_run_folder(const std::string& folder, std::int64_t checkpoint_bytes, int keep);

/// The first rank of a node: why this node cannot read the recipe's shards; "" when it can. Reads
/// what the shards say of themselves, no data.
std::string data_problem(const Recipe& recipe);

}  // namespace quern
