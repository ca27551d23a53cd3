// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "comm/process_grid.hpp"
#include "spec/training_spec.hpp"
#include "strategy/batch_rule.hpp"
#include "strategy/model.hpp"

namespace quern {

/// What the network says of one sample.
struct SampleOutputs {
  /// In the order of the units; in the units of the targets where the network was trained with
  /// normalized ones.
  std::span<const float> outputs;
  int label = -1;                       ///< -1 where the sample has none
  std::span<const float> targets = {};  ///< that come with the sample, in their own units
};

using TakeOutputs = std::function<void(const SampleOutputs& sample)>;

/// Collective: rank 0 calls `take` for every sample in order. `samples` need no labels; `model`,
/// this rank's part of the grid, must be allocated for `batch` samples (see predictor_rows), which
/// each rank along the data axis takes at a time; what it holds of streamed samples is for
/// prediction_batches(). `seconds`, if there, gets what each batch took from having its samples to
/// having its outputs on rank 0. AgreedError where samples of a streamed set cannot be read, or
/// `take` throws.
void predict(const ProcessGrid& grid, Model& model, const Samples& samples, int batch,
             const TakeOutputs& take, std::vector<double>* seconds = nullptr);

struct Prediction {
  int best = 0;            ///< index of the largest output (the first one of equals)
  double probability = 0;  ///< of that class: its share of the softmax
  double loss = 0;         ///< cross entropy against the label; 0 without one
};

/// What a classifier's outputs for one sample say. `label` < 0: there is none. `loss`: cross
/// entropy.
Prediction prediction_of(std::span<const float> outputs, int label, const LossSpec& loss = {});

/// Probability of each class, the softmax of a classifier's outputs for one sample; overwrites
/// `probabilities`, as many.
void put_probabilities(std::span<const float> outputs, std::span<float> probabilities);

/// How predict() cuts a set: into consecutive samples for each of the ranks along the data axis,
/// `batch` for all but the last ones. InputError above kMaxGlobalBatch samples at a time.
BatchRule prediction_batches(int batch, int num_ranks, std::int64_t num_samples);

/// Rows that predict() needs for batches of this many samples.
int predictor_rows(const Model& model, int batch);

}  // namespace quern
