// SPDX-License-Identifier: Apache-2.0
// How good a model is on a whole data set.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

namespace quern {

struct Evaluation {
  std::int64_t samples = 0;
  double loss = 0;           ///< mean over the samples, as in training: of normalized targets
  std::int64_t answers = 0;  ///< right or wrong (Loss::answers_per_sample()), of all samples
  std::int64_t correct = 0;  ///< of these answers, the right ones
  bool has_targets = false;  ///< that come with the samples
  /// Of these targets: the mean over their units of the variance over the samples. 0 where they are
  /// all equal.
  double target_variance = 0;
  /// The mean squared error in the units that the targets come in, whatever the loss.
  double squared_error = 0;
  /// Share of right answers; 0 where there are none.
  double accuracy() const {
    return answers > 0 ? static_cast<double>(correct) / static_cast<double>(answers) : 0;
  }
  /// Of targets: root of the mean squared error over samples and units.
  std::optional<double> rmse() const {
    if (!has_targets) return std::nullopt;
    return std::sqrt(squared_error);
  }
  /// Of targets: the share of their variance that is explained, over all units together
  /// (scikit-learn's r2_score with multioutput="variance_weighted"). 1 is perfect, 0 is as good as
  /// the mean. Nothing where they are all equal.
  std::optional<double> r2() const {
    if (target_variance == 0) return std::nullopt;
    return 1 - squared_error / target_variance;
  }
};

}  // namespace quern
