// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "strategy/model.hpp"

namespace quern {

struct Prediction {
  int best = 0;            ///< index of the network's largest output (the first one of equals)
  double probability = 0;  ///< of that class: its share of the softmax
  double loss = 0;         ///< cross entropy against the label; 0 without labels
};

/// Of every sample, in order. One rank. `samples` need no labels; `model` must be allocated for
/// `batch` samples (see predictor_rows).
std::vector<Prediction> predict_samples(Model& model, const Samples& samples, int batch);

/// Rows that predict_samples() needs for batches of this many samples.
int predictor_rows(const Model& model, int batch);

}  // namespace quern
