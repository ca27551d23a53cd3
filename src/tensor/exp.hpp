// SPDX-License-Identifier: Apache-2.0
// The exponential function in plain arithmetic: loops over it vectorise, and its bits depend
// neither on the C library nor on the processor.
#pragma once

#include <cstdint>

#include "tensor/types.hpp"

namespace quern {

/// e^x for x <= 88, at most 2 units in the last place off; 0 below -87 (where float has no normal
/// numbers left), NaN for NaN. To be compiled without contraction (QUERN_EXACT_ARITHMETIC).
/// x = n ln 2 + r with |r| <= ln 2 / 2, then a polynomial in r: Cody, Waite: "Software Manual for
/// the Elementary Functions", 1980; its coefficients are those of the Taylor series.
KOKKOS_INLINE_FUNCTION float exp_normal(float x) {
  constexpr float kLog2E = 1.44269504f;
  constexpr float kLn2High = 0.693359375f;  // few bits: n times it is exact
  constexpr float kLn2Low = -2.12194440e-4f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number
  const float shifted = x * kLog2E + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float sum = 1.0f / 5040;
  sum = sum * r + 1.0f / 720;
  sum = sum * r + 1.0f / 120;
  sum = sum * r + 1.0f / 24;
  sum = sum * r + 1.0f / 6;
  sum = sum * r + 0.5f;
  sum = sum * (r * r) + r + 1.0f;
  const auto bits = static_cast<std::uint32_t>(Kokkos::bit_cast<std::int32_t>(shifted)) << 23;
  const float scaled = Kokkos::bit_cast<float>(Kokkos::bit_cast<std::uint32_t>(sum) + bits);
  return x < -87.0f ? 0.0f : (x != x ? x : scaled);
}

}  // namespace quern
