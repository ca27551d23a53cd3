// SPDX-License-Identifier: Apache-2.0
// Which samples form a batch. Training, evaluation, resuming and the benchmarks all ask here.
#pragma once

#include <cstdint>

#include "base/ceil_div.hpp"
#include "network/network.hpp"
#include "spec/recipe.hpp"
#include "strategy/batch_plan.hpp"

namespace quern {

/// An epoch is full batches and, where samples are left over, one shorter batch.
struct BatchRule {
  std::int64_t num_samples = 0;  ///< of the data set, at least 1
  int global_batch = 0;          ///< what the recipe asks for
  int full_batch = 0;            ///< what a step takes: never more samples than there are
  int last_batch = 0;            ///< of an epoch: the samples left over, or full_batch
  int block_samples = 0;         ///< of a micro-block, also in the last batch
  Determinism determinism = Determinism::rank_invariant;
  int micro_batches = 1;  ///< pieces, at most, in which a rank works off its part

  std::int64_t steps_per_epoch() const { return ceil_div(num_samples, full_batch); }
  /// Is the batch that begins with sample `cursor` of an epoch shorter than the others?
  bool is_short(std::int64_t cursor) const { return num_samples - cursor < full_batch; }
  /// `row_multiple`: the network's (Network::row_multiple).
  BatchCut cut(int row_multiple) const {
    return {block_samples, row_multiple, determinism, micro_batches};
  }
};

/// Of `global_batch` samples each, where there are so many. How each is cut is left open.
BatchRule batches_of(int global_batch, std::int64_t num_samples);

/// The batches of a training on `num_ranks` ranks. InputError above kMaxGlobalBatch.
BatchRule training_batches(const Recipe& recipe, int num_ranks, std::int64_t num_samples);

/// The batches of an evaluation over `num_samples` samples, by a model that was trained with
/// `recipe` and full batches of `trained_batch` samples: cut like those, but exact for any number
/// of ranks, also where training is "fast". With the `micro_batches` of the training it needs no
/// more memory than that.
BatchRule evaluation_batches(const Recipe& recipe, int trained_batch, std::int64_t num_samples,
                             int micro_batches = 1);

/// What a global batch comes down to with so many samples: two runs over the same data are the same
/// where this is equal. (Checkpoints hold it.)
int full_batch_of(std::int64_t global_batch, std::int64_t num_samples);

/// InputError, naming the layer, where one cannot do with a batch of `batch` samples in
/// micro-blocks of `block_samples`, of which the last may be shorter (LayerTraits::least_samples).
void check_least_samples(const Network& network, int batch, int block_samples);

}  // namespace quern
