// SPDX-License-Identifier: Apache-2.0
// Data sets in memory, in one copy for all ranks of a node.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/shape.hpp"
#include "comm/communicator.hpp"
#include "comm/process_grid.hpp"
#include "io/shard_set.hpp"
#include "samples/node_samples.hpp"
#include "samples/shared_opening.hpp"
#include "spec/recipe.hpp"
#include "strategy/samples.hpp"

namespace quern {

struct BatchRule;

/// Collective. Loads a split ("train" or "test") of the shards in `folder`: the
/// ranks open each of them once to check the set; those of every node share the reading, and open
/// what they read. AgreedError on all ranks: exit 2, or 93 for damaged data.
Samples load_shards(Communicator& comm, const std::string& folder, const std::string& split);

/// The batches in which so many samples are gone through.
using ChooseBatches = std::function<BatchRule(std::int64_t num_samples)>;

/// What is to be evaluated or predicted.
struct SetInOrder {
  std::string folder;
  std::string split;
  std::string memory_name = "data.memory";  ///< what messages call data.memory
};

/// Collective. The same for a set that is gone through in its own order, by the ranks of a grid;
/// streamed where it is larger than data.memory.
Samples load_samples_in_order(const ProcessGrid& grid, const DataSpec& data,
                              const ChooseBatches& choose_batches, const SetInOrder& set);

/// That of a model of `recipe`, trained with full batches of `trained_batch` samples, which is
/// evaluated on it.
Samples load_evaluation_samples(const ProcessGrid& grid, const Recipe& recipe, int trained_batch,
                                const SetInOrder& set);

/// What one of the samples below takes, in bytes.
std::int64_t random_sample_bytes(const Shape& shape, TargetType target, int outputs);

/// The toy data of source = "random", the same on all ranks: `count` samples of `shape`, for a
/// network with so many outputs. Each comes with as many target values, or with its class.
Samples make_random_samples(std::uint64_t seed, std::int64_t count, const Shape& shape,
                            TargetType target, int outputs);

/// Collective. The training data of a recipe that says where they are; streamed where they are
/// larger than data.memory.
Samples load_training_samples(const ProcessGrid& grid, const Recipe& recipe, const Shape& output);

}  // namespace quern
