// SPDX-License-Identifier: Apache-2.0
// Reference implementation of linalg/host/bf16_tiles.hpp and simd_bf16.hpp, with the same bits.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace quern::reference {

/// Denormals become zero, with their sign.
inline float without_denormal(float value) {
  return std::fabs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0f, value) : value;
}

/// Bits of the nearest bfloat16, ties to even; denormals become zero, NaN becomes quiet.
inline std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(without_denormal(value));
  if (value != value) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

inline float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

/// Element (m, n) of c + A B for one step: A tile [16][32], B tile [16 pairs][16][2].
inline float tile_product(const std::uint16_t* a, const std::uint16_t* b, int m, int n, float c) {
  float chain[2] = {0, 0};
  for (int k = 0; k < 32; ++k) {
    const float a_k = without_denormal(from_bf16(a[m * 32 + k]));
    const float b_k = without_denormal(from_bf16(b[k / 2 * 32 + 2 * n + k % 2]));
    chain[k % 2] = without_denormal(std::fma(a_k, b_k, chain[k % 2]));
  }
  const float product = without_denormal(chain[0] + chain[1]);
  return without_denormal(without_denormal(c) + product);
}

/// The same by pairs.
inline float pair_product(const std::uint16_t* a, const std::uint16_t* b, int m, int n, float c) {
  float sum = without_denormal(c);
  for (int k = 0; k < 32; ++k) {
    const int odd_first = k ^ 1;
    const float a_k = without_denormal(from_bf16(a[m * 32 + odd_first]));
    const float b_k = without_denormal(from_bf16(b[k / 2 * 32 + 2 * n + odd_first % 2]));
    sum = without_denormal(std::fma(a_k, b_k, sum));
  }
  return sum;
}

}  // namespace quern::reference
