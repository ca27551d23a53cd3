// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loss/loss.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

/// The target of a label: what its class and what each of the others is to have. Not smoothed it
/// has the bits of the plain formulas.
struct SmoothedTargets {
  float share = 0;     ///< e, of the target that all classes get alike
  float at_label = 1;  ///< 1 - e + e / V
  float at_other = 0;  ///< e / V

  KOKKOS_INLINE_FUNCTION float of_label(int) const { return at_label; }
  KOKKOS_INLINE_FUNCTION float of_other(int) const { return at_other; }
  /// Q of a label.
  KOKKOS_INLINE_FUNCTION float whole(int) const { return 1; }
  /// What class v adds to `below_all` of loss().
  KOKKOS_INLINE_FUNCTION float term(int, float below) const { return below; }

  /// The loss of a sample: log z, m - x_label, and the sum of term(v, m - x_v) over the classes.
  KOKKOS_INLINE_FUNCTION float loss(int, float log_total, float below_label,
                                    float below_all) const {
    if (share == 0) return log_total + below_label;
    return log_total + ((1 - share) * below_label + at_other * below_all);
  }
};

/// The same where classes count differently.
struct WeightedTargets {
  SmoothedTargets plain;
  const float* weights;  ///< [V]
  const float* wholes;   ///< [V]

  KOKKOS_INLINE_FUNCTION float of_label(int v) const { return plain.at_label * weights[v]; }
  KOKKOS_INLINE_FUNCTION float of_other(int v) const { return plain.at_other * weights[v]; }
  KOKKOS_INLINE_FUNCTION float whole(int label) const { return wholes[label]; }
  KOKKOS_INLINE_FUNCTION float term(int v, float below) const { return weights[v] * below; }
  KOKKOS_INLINE_FUNCTION float loss(int label, float log_total, float below_label,
                                    float below_all) const {
    return wholes[label] * log_total +
           ((1 - plain.share) * weights[label] * below_label + plain.at_other * below_all);
  }
};

struct CrossEntropyOptions {
  SmoothedTargets targets;
  ConstFloatView weights = {};  ///< [V], or empty where all are 1
  ConstFloatView wholes = {};   ///< [V], or empty: Q of each label

  /// Calls use(targets) with the kind that does.
  template <class Use>
  void with_targets(const Use& use) const {
    if (weights.extent(0) == 0)
      use(targets);
    else
      use(WeightedTargets{targets, weights.data(), wholes.data()});
  }
};

/// What CrossEntropy::evaluate_rows says.
using EvaluateCrossEntropy = void(const ExecSpace& exec, const LossContext& step,
                                  const Activation& prediction, const LossTarget& target,
                                  const Activation& d_prediction, const FloatView& values,
                                  const CrossEntropyOptions& options);

namespace host {
EvaluateCrossEntropy cross_entropy;
}
namespace device {
EvaluateCrossEntropy cross_entropy;
}

}  // namespace quern
