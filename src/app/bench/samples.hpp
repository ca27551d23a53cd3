// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "train/samples.hpp"

namespace quern {

/// Collective. Data of the recipe's shape without files, in the memory that training takes for data
/// from files: one copy for all ranks of a node. As many samples as MNIST has (60000), so
/// that, as in training, the next batch is not in a cache; fewer where they would take more than
/// 128 MB, but at least two batches. AgreedError (exit 2) when a node lacks the memory.
Samples make_bench_samples(Communicator& comm, const Recipe& recipe, const Shape& output);

}  // namespace quern
