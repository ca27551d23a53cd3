// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "comm/communicator.hpp"
#include "io/shard_set.hpp"
#include "spec/recipe.hpp"
#include "strategy/batch_rule.hpp"
#include "strategy/samples.hpp"

namespace quern {

/// InputError unless there is a sample for each of so many ranks, in the set and in a batch.
void check_batches(const BatchRule& batches, int num_ranks);

/// For messages: "'data/mnist/train'", or "the training data" where they are not shards.
std::string training_data_name(const DataSpec& data);
std::string test_data_name(const DataSpec& data);

/// The batches of a training on so many ranks, of all axes, with so many samples. InputError where
/// that cannot be.
BatchRule checked_batches(const Recipe& recipe, int num_ranks, std::int64_t num_samples);

/// Can `recipe` be trained on so many ranks with these shards, as far as they tell without being
/// read? Of what a training refuses it knows shapes, answers, classes, batches and windows.
/// `test` may be null. Starts no device. InputError.
void check_data(const Recipe& recipe, int num_ranks, const ShardSet& train, const ShardSet* test);

/// Collective: AgreedError (exit 2) unless what the outputs are compared with, of all samples, is
/// from 0 to 1, as a binary cross entropy needs. `data`: their name for the message.
void check_probabilities(Communicator& comm, const Samples& samples, TargetType target,
                         const std::string& data);

}  // namespace quern
