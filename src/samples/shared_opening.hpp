// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "comm/communicator.hpp"
#include "io/shard_set.hpp"

namespace quern {

/// Collective. A split ("train" or "test") of the shards in `folder`. Each shard is opened by one
/// rank, which tells the others what it found: small sets by rank 0, larger ones by several.
/// AgreedError as ShardSet::open() throws; it names the rank where rank 0 can open the shard.
ShardSet open_shards_once(Communicator& comm, const std::string& folder, const std::string& split);

}  // namespace quern
