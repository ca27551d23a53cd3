// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/process_grid.hpp"
#include "io/shard_set.hpp"
#include "spec/recipe.hpp"
#include "strategy/samples.hpp"

namespace quern {

/// Collective. The training data of a recipe out of `shards`, of which each rank holds two windows
/// of what it computes (strategy/sample_stream.hpp). Reads nothing yet. AgreedError on all ranks
/// (exit 2) where windows do not fit into data.memory or a node has less.
Samples stream_shards(const ProcessGrid& grid, const Recipe& recipe, const ShardSet& shards);

}  // namespace quern
