// SPDX-License-Identifier: Apache-2.0
// The recipe's shards, as each node sees them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "io/shard_set.hpp"
#include "spec/recipe.hpp"

namespace quern {

/// The recipe's shards. None where its samples come from elsewhere.
struct DataSets {
  std::vector<ShardSet> sets;  ///< for training, then for tests
  std::string problem;         ///< why the ranks cannot open them all
};

/// Collective: each shard is opened once, and what it says of itself is told to all ranks.
/// AgreedError (exit 1) where a disk or a file server fails.
DataSets open_data_sets(Communicator& comm, const DataSpec& data);

/// What a node with `node_ranks` of all `ranks` holds of them in memory during a training.
std::int64_t held_bytes(const std::vector<ShardSet>& sets, const DataSpec& data, int node_ranks,
                        int ranks);

/// Of a node; "" where there is none.
struct DataProblems {
  std::string reading;  ///< why it cannot read the recipe's shards
  std::string memory;   ///< why it cannot hold of them what it is to hold, and train
};

/// The first rank of a node, which has `node_ranks` of all `ranks`: opens the first and the last
/// shard of each set, not more: a file server has to answer all nodes at the same time. All of them
/// where the ranks could not: then it is to be known which nodes that is so of.
/// SystemFailure where it fails. `training_bytes`: what else its ranks take.
DataProblems data_problems(const DataSets& data_sets, const DataSpec& data, int node_ranks,
                           int ranks, std::int64_t training_bytes = 0);

}  // namespace quern
