// SPDX-License-Identifier: Apache-2.0
// What the kernels of the mean squared error have in common on a CPU.
#pragma once

#include <cstdint>

#include "loss/loss.hpp"

namespace quern::host {

/// Of the rows of a batch.
struct MseRows {
  float* values;  ///< [rows, Loss::kColumns]
  View<const std::int64_t> sample_of_row;
  StepScalarsView scalars;
  int units;
  bool after_relu;  ///< the gradient is that in front of the ReLU that the prediction comes out of

  /// 0 in an empty row.
  float derivative_factor(std::int64_t row) const {
    return sample_of_row(row) >= 0 ? 2 * scalars().inverse_count / static_cast<float>(units) : 0;
  }
  /// `sum`: of the row's squared errors.
  void set_value(std::int64_t row, float sum) const {
    const bool filled = sample_of_row(row) >= 0;
    values[row * Loss::kColumns + Loss::kLoss] = filled ? sum / static_cast<float>(units) : 0;
    values[row * Loss::kColumns + Loss::kCorrect] = 0;
  }
};

}  // namespace quern::host
