// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loss/loss.hpp"
#include "tensor/exp.hpp"
#include "tensor/kernel_choice.hpp"
#include "tensor/log.hpp"

namespace quern {

/// exp(-|x|), out of which the rest is made.
KOKKOS_INLINE_FUNCTION float power_below_one(float x) {
  return exp_normal(x > 0 ? -x : x);
}

/// sigmoid(x); `power`: power_below_one(x).
KOKKOS_INLINE_FUNCTION float probability(float x, float power) {
  return (x > 0 ? 1.0f : power) / (1.0f + power);
}

/// What one number adds to the loss of its sample, but for 1 / U. `more`: w - 1.
KOKKOS_INLINE_FUNCTION float binary_cost(float x, float t, float power, float more) {
  const float rest = log_normal(1.0f + power);
  return (x > 0 ? x : 0.0f) - x * t + rest + more * t * ((x > 0 ? 0.0f : -x) + rest);
}

/// Its derivative.
KOKKOS_INLINE_FUNCTION float binary_slope(float x, float t, float power, float more) {
  const float p = probability(x, power);
  return p - t + more * t * (p - 1.0f);
}

/// Are both on the same side: is it "yes" to both, or to none?
KOKKOS_INLINE_FUNCTION bool is_right(float x, float t) {
  return (x > 0) == (t > 0.5f);
}

/// What BinaryCrossEntropy::evaluate_rows says; `more`: w - 1.
using EvaluateBinaryCrossEntropy = void(const ExecSpace& exec, const LossContext& step, float more,
                                        const Activation& prediction, const LossTarget& target,
                                        const Activation& d_prediction, const FloatView& values);

namespace host {
EvaluateBinaryCrossEntropy binary_cross_entropy;
}
namespace device {
EvaluateBinaryCrossEntropy binary_cross_entropy;
}

}  // namespace quern
