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

/// Either images with labels (shards) or float values with float targets (random data).
struct Samples {
  std::int64_t count = 0;
  Shape shape;            ///< of one sample
  int classes = 0;        ///< 0 without labels
  std::string data_hash;  ///< digest of the content, equal on all ranks

  View<const std::uint8_t> images;  ///< [count, units], pixels
  View<const std::uint8_t> labels;  ///< [count]
  FloatView values;                 ///< [count, units]
  FloatView targets;                ///< [count, target_units]
  int target_units = 0;

  std::shared_ptr<NodeShared> storage;  ///< what the views look into
};

/// Collective. Loads a split ("train" or "test") of shards in `folder`: rank 0 inspects, one rank
/// of every node reads. AgreedError (exit 2, or 93 for damaged data) on all ranks.
Samples load_shards(Communicator& comm, const std::string& folder, const std::string& split);

/// Collective. The toy data of source = "random": `count` samples of `shape` and targets of
/// `target_units` values, the same on all ranks. `stream` 0 is for training, 1 for testing.
Samples make_random_samples(Communicator& comm, std::uint64_t seed, int stream, std::int64_t count,
                            const Shape& shape, int target_units);

}  // namespace quern
