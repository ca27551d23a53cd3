// SPDX-License-Identifier: Apache-2.0
// The natural logarithm in plain arithmetic, for the same reasons as tensor/exp.hpp.
#pragma once

#include <cstdint>

#include "tensor/types.hpp"

namespace quern {

/// ln x for x >= 2^-126 that is finite, at most 1 unit in the last place off; NaN for NaN. To be
/// compiled without contraction (QUERN_EXACT_ARITHMETIC).
/// x = 2^n (1 + f) with 1 + f from sqrt(1/2) to sqrt(2), and with s = f / (2 + f)
///   ln(1 + f) = 2 artanh(s) = 2 s + s r = f - s (f - r),   r = 2 (s^2 / 3 + s^4 / 5 + ...).
KOKKOS_INLINE_FUNCTION float log_normal(float x) {
  constexpr std::int32_t kSqrtHalf = 0x3f3504f3;  // its bits
  constexpr float kLn2High = 0.693359375f;        // few bits: n times it is exact
  constexpr float kLn2Low = -2.12194440e-4f;
  const auto bits = Kokkos::bit_cast<std::int32_t>(x);
  const std::int32_t exponent = (bits - kSqrtHalf) >> 23;
  const float f = Kokkos::bit_cast<float>(bits - exponent * (1 << 23)) - 1.0f;
  const float n = static_cast<float>(exponent);
  const float s = f / (2.0f + f);
  const float z = s * s;
  float r = 2.0f / 9;
  r = r * z + 2.0f / 7;
  r = r * z + 2.0f / 5;
  r = r * z + 2.0f / 3;
  r = r * z;
  const float result = n * kLn2High + (f - (s * (f - r) - n * kLn2Low));
  return x != x ? x : result;
}

}  // namespace quern
