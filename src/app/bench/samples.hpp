// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "train/samples.hpp"

namespace quern {

/// Data of the recipe's shape without files. As many samples as MNIST has (60000), so that, as in
/// training, the next batch is not in a cache; fewer where they would take more than 128 MB, but at
/// least two batches.
Samples make_bench_samples(const Recipe& recipe, const Shape& output, int global_batch);

}  // namespace quern
