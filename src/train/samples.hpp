// SPDX-License-Identifier: Apache-2.0
// Data sets in memory, in one copy for all ranks of a node.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "base/shape.hpp"
#include "comm/communicator.hpp"
#include "spec/recipe.hpp"
#include "strategy/samples.hpp"

namespace quern {

struct ImageSamplesShape {
  std::string name;  ///< for the message when memory is short
  std::int64_t count = 0;
  Shape image;
  int classes = 0;
};

/// Overwrites this rank's share of `images` [count, units] and `labels` [count]; together the ranks
/// of a node overwrite all.
using FillImages =
    std::function<void(std::span<std::uint8_t> images, std::span<std::uint8_t> labels)>;

/// Collective. Images and labels in one copy for all ranks of a node, filled by `fill`; data_hash
/// is left empty. AgreedError on all ranks: exit 2 when a node or a device lacks the memory, or
/// what `fill` throws.
Samples make_image_samples(Communicator& comm, const ImageSamplesShape& shape,
                           const FillImages& fill);

/// Collective. Loads a split ("train" or "test") of the shards in `folder`: rank 0 opens
/// all of them to check the set, the ranks of every node share the reading and open what they read.
/// AgreedError on all ranks: exit 2, or 93 for damaged data.
Samples load_shards(Communicator& comm, const std::string& folder, const std::string& split);

/// The toy data of source = "random", the same on all ranks: `count` samples of `shape`, each with
/// a target of `target_units` values.
Samples make_random_samples(std::uint64_t seed, std::int64_t count, const Shape& shape,
                            int target_units);

/// Collective. The training data of a recipe.
Samples load_training_samples(Communicator& comm, const Recipe& recipe, const Shape& output);

}  // namespace quern
