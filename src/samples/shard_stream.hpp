// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "comm/process_grid.hpp"
#include "io/shard_set.hpp"
#include "spec/recipe.hpp"
#include "strategy/batch_rule.hpp"
#include "strategy/samples.hpp"

namespace quern {

/// How a set is gone through: its windows (data.memory, data.window), order and batches.
struct StreamSpec {
  DataSpec data;
  BatchRule batches;
  std::uint64_t seed = 0;
  std::int64_t epochs = 0;
  std::string memory_name = "data.memory";  ///< for messages
};

/// Collective. A set out of `shards`, of which each rank holds two windows of what it computes
/// (strategy/sample_stream.hpp). Reads nothing yet. AgreedError on all ranks (exit 2) where windows
/// do not fit into data.memory or a node has less.
Samples stream_shards(const ProcessGrid& grid, const ShardSet& shards, const StreamSpec& spec);

/// The training data of a recipe.
Samples stream_training_shards(const ProcessGrid& grid, const Recipe& recipe,
                               const ShardSet& shards);

/// A set to be evaluated or predicted, in its own order; data.memory is of this set alone, and
/// messages call it `memory_name`.
Samples stream_shards_in_order(const ProcessGrid& grid, const DataSpec& data,
                               const BatchRule& batches, const ShardSet& shards,
                               const std::string& memory_name);

}  // namespace quern
