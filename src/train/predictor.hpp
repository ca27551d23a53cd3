// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "comm/process_grid.hpp"
#include "strategy/model.hpp"

namespace quern {

/// The network's outputs for one sample, in the order of the units; in the units of the targets
/// where the network was trained with normalized ones.
using TakeOutputs = std::function<void(std::span<const float> outputs)>;

/// Collective: rank 0 calls `take` for every sample in order. `samples` need no labels; `model`,
/// this rank's part of the grid, must be allocated for `batch` samples (see predictor_rows), which
/// each rank along the data axis takes at a time. `seconds`, if there, gets what each batch took
/// from loading its samples to having its outputs on rank 0.
void predict(const ProcessGrid& grid, Model& model, const Samples& samples, int batch,
             const TakeOutputs& take, std::vector<double>* seconds = nullptr);

struct Prediction {
  int best = 0;            ///< index of the largest output (the first one of equals)
  double probability = 0;  ///< of that class: its share of the softmax
  double loss = 0;         ///< cross entropy against the label; 0 without one
};

/// What a classifier's outputs for one sample say. `label` < 0: there is none.
Prediction prediction_of(std::span<const float> outputs, int label);

/// Rows that predict() needs for batches of this many samples.
int predictor_rows(const Model& model, int batch);

}  // namespace quern
