// SPDX-License-Identifier: Apache-2.0
// A data set where kernels can read it: one copy for all ranks of a node.
#pragma once

#include <memory>
#include <string>

#include "base/shape.hpp"
#include "comm/communicator.hpp"
#include "spec/recipe.hpp"
#include "tensor/types.hpp"

namespace quern {

/// Either images with labels (shards), or values with targets (random data).
struct Samples {
  std::int64_t count = 0;
  Shape shape;            ///< of one sample
  int classes = 0;        ///< 0 without labels
  std::string data_hash;  ///< names the content; equal on all ranks

  View<const std::uint8_t> images;  ///< [count, units], pixels
  View<const std::uint8_t> labels;  ///< [count]
  ConstFloatView values;            ///< [count, units]
  ConstFloatView targets;           ///< [count, target units]

  std::shared_ptr<NodeShared> storage;  ///< what the image and label views look into
};

/// Collective. Loads a split ("train" or "test") of the shards in `folder`: rank 0 inspects, the
/// ranks of every node share the reading. AgreedError on all ranks: exit 2, or 93 for damaged data.
Samples load_shards(Communicator& comm, const std::string& folder, const std::string& split);

/// The toy data of source = "random", the same on all ranks: `count` samples of `shape`, each with
/// a target of `target_units` values.
Samples make_random_samples(std::uint64_t seed, std::int64_t count, const Shape& shape,
                            int target_units);

/// Collective. The training data of a recipe.
Samples load_training_samples(Communicator& comm, const Recipe& recipe, const Shape& output);

}  // namespace quern
