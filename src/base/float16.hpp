// SPDX-License-Identifier: Apache-2.0
// Half precision (IEEE 754 binary16) as bits, for files that hold it.
#pragma once

#include <bit>
#include <cstdint>

namespace quern {

/// Exact.
inline float float_of_half(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16;
  const std::uint32_t exponent = half >> 10 & 0x1fu;
  const std::uint32_t mantissa = half & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent == 0) {
    const float size = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -size : size;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

/// Rounded to the nearest, ties to even; infinite above 65504.
inline std::uint16_t half_of_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
  std::uint32_t size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (size >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (size < 0x38800000u) {
    // Subnormal: the addition rounds away what lies below 2^-24.
    const float shifted = std::bit_cast<float>(size) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  size += 0xc8000fffu + (size >> 13 & 1u);  // the exponent's bias, and half a unit
  return static_cast<std::uint16_t>(sign | size >> 13);
}

}  // namespace quern
