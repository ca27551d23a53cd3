// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "strategy/model.hpp"

namespace quern {

/// The class of every sample: the index of the network's largest output (the first one of equals).
/// One rank. `samples` need no labels; `model` must be allocated for `batch` samples (see
/// predictor_rows).
std::vector<int> predict_classes(Model& model, const Samples& samples, int batch);

/// Rows that predict_classes needs for batches of this many samples.
int predictor_rows(const Model& model, int batch);

}  // namespace quern
