// SPDX-License-Identifier: Apache-2.0
// The functions of smooth activations in plain arithmetic, for the same reasons as tensor/exp.hpp.
// To be compiled without contraction (QUERN_EXACT_ARITHMETIC). NaN stays NaN.
#pragma once

#include "tensor/exp.hpp"

namespace quern {

/// 1 / (1 + e^-x), at most 3 units in the last place off; 0 below -87.
KOKKOS_INLINE_FUNCTION float sigmoid(float x) {
  const float power = exp_normal(x > 0 ? -x : x);
  return (x < 0 ? power : 1.0f) / (1.0f + power);
}

/// tanh x, at most 2 units in the last place off. Near 0 by a polynomial, so that small results
/// have all their digits: x + x^3 P(x^2), fitted by Remez' algorithm (relative error 1e-9).
KOKKOS_INLINE_FUNCTION float tanh_plain(float x) {
  constexpr float kNear = 0.55f;
  const float size = x < 0 ? -x : x;
  const float power = exp_normal(-2.0f * size);
  const float far = 1.0f - 2.0f * power / (1.0f + power);
  const float square = x * x;
  float sum = -6.274238015e-3f;
  sum = sum * square + 2.107167831e-2f;
  sum = sum * square - 5.385230983e-2f;
  sum = sum * square + 1.333258614e-1f;
  sum = sum * square - 3.333331756e-1f;
  const float near = x + x * (square * sum);
  return size < kNear ? near : (x < 0 ? -far : far);
}

/// The normal distribution function at x and its density.
struct NormalDistribution {
  float below;
  float density;
};

/// Phi(x) = (1 + erf(x / sqrt(2))) / 2, at most 4 units in the last place off above 0, with a
/// relative error below 1e-6 from -5 on and below 5e-6 under it; and exp(-x^2 / 2) / sqrt(2 pi).
/// The tail is exp(-x^2 / 2) R(x), where R is smooth: a polynomial in s = (|x| - 3) / (|x| + 3),
/// fitted by Remez' algorithm (relative error 7e-9 up to |x| = 13.25, from where on the power is
/// 0).
KOKKOS_INLINE_FUNCTION NormalDistribution normal_distribution(float x) {
  constexpr float kInverseSqrtTwoPi = 0.398942280f;
  const float size = x < 0 ? -x : x;
  const float power = exp_normal(-0.5f * x * x);
  const float s = 1.0f - 6.0f / (size + 3.0f);  // finite for an infinite x, too
  float ratio = 5.41508097e-5f;
  ratio = ratio * s + 1.16037337e-4f;
  ratio = ratio * s - 3.39911275e-4f;
  ratio = ratio * s - 9.84182730e-4f;
  ratio = ratio * s + 2.90470259e-3f;
  ratio = ratio * s + 6.13218305e-3f;
  ratio = ratio * s - 4.62133138e-2f;
  ratio = ratio * s + 1.23225022e-1f;
  ratio = ratio * s - 2.06402618e-1f;
  ratio = ratio * s + 1.21513948e-1f;
  const float tail = power * ratio;
  return {x < 0 ? tail : 1.0f - tail, kInverseSqrtTwoPi * power};
}

}  // namespace quern
