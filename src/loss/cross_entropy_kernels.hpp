// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loss/loss.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

/// The target of a label: what its class and what each of the others is to have. Not smoothed it
/// has the bits of the plain formulas.
struct LabelSmoothing {
  float share = 0;   ///< of the target that all classes get alike
  float label = 1;   ///< 1 - share + share / classes
  float others = 0;  ///< share / classes

  /// The loss of a sample: log z, m - x_label, and the sum of m - x_v over the classes.
  KOKKOS_INLINE_FUNCTION float loss(float log_total, float below_label, float below_all) const {
    if (share == 0) return log_total + below_label;
    return log_total + ((1 - share) * below_label + others * below_all);
  }
};

/// What CrossEntropy::evaluate_rows says.
using EvaluateCrossEntropy = void(const ExecSpace& exec, const LossContext& step,
                                  const Activation& prediction, const LossTarget& target,
                                  const Activation& d_prediction, const FloatView& values,
                                  const LabelSmoothing& smoothing);

namespace host {
EvaluateCrossEntropy cross_entropy;
}
namespace device {
EvaluateCrossEntropy cross_entropy;
}

}  // namespace quern
