// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/shard_set.hpp"
#include "spec/recipe.hpp"
#include "strategy/batch_rule.hpp"

namespace quern {

/// InputError unless there is a sample for each of so many ranks, in the set and in a batch.
void check_batches(const BatchRule& batches, int num_ranks);

/// Can `recipe` be trained on so many ranks with these shards, as far as they tell without being
/// read? Of what a training refuses it knows shapes, answers, classes, batches and windows.
/// `test` may be null. Starts no device. InputError.
void check_data(const Recipe& recipe, int num_ranks, const ShardSet& train, const ShardSet* test);

}  // namespace quern
