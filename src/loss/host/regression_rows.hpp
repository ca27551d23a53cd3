// SPDX-License-Identifier: Apache-2.0
// What the kernels of a regression's loss have in common on a CPU.
#pragma once

#include <cstdint>

#include "linalg/host/simd.hpp"
#include "loss/error_function.hpp"
#include "loss/loss.hpp"

namespace quern {

template <>
struct ErrorOperations<simd::Vector> {
  static simd::Vector sign(simd::Vector e) { return simd::sign(e); }
  static simd::Vector clamp(simd::Vector e, float limit) { return simd::clamp(e, limit); }
};

}  // namespace quern

namespace quern::host {

/// Of the rows of a batch.
struct RegressionRows {
  float* values;  ///< [rows, Loss::kColumns]
  View<const std::int64_t> sample_of_row;
  StepScalarsView scalars;
  int units;
  float slope_factor;  ///< kFactor of the error function
  bool after_relu;  ///< the gradient is that in front of the ReLU that the prediction comes out of

  /// Of slope(); 0 in an empty row.
  float derivative_factor(std::int64_t row) const {
    if (sample_of_row(row) < 0) return 0;
    return slope_factor * scalars().inverse_count / static_cast<float>(units);
  }
  /// `sum`: of the costs of the row's errors.
  void set_value(std::int64_t row, float sum) const {
    const bool filled = sample_of_row(row) >= 0;
    values[row * Loss::kColumns + Loss::kLoss] = filled ? sum / static_cast<float>(units) : 0;
    values[row * Loss::kColumns + Loss::kCorrect] = 0;
  }
};

}  // namespace quern::host
