// SPDX-License-Identifier: Apache-2.0
// Pixels 0 to 255 as floats 0 to 1, other values as they are, a vector at a time.
#pragma once

#include "linalg/host/simd.hpp"

namespace quern::host {

/// x / 255, rounded, without the division where there are fused multiply-adds: one step of Newton's
/// method from x * (1 / 255). The tests compare all 256 values.
inline simd::Register divide_by_255(simd::Register x) {
#if defined(__FMA__)
  const simd::Register inverse = simd::broadcast<simd::Register>(1.0f / 255.0f);
  const simd::Register quotient = x * inverse;
  const simd::Register rest =
      simd::multiply_add(quotient, simd::broadcast<simd::Register>(-255.0f), x);
  return simd::multiply_add(rest, inverse, quotient);
#else
  return x / 255.0f;
#endif
}
template <class Half>
simd::Pair<Half> divide_by_255(simd::Pair<Half> x) {
  return {divide_by_255(x.low), divide_by_255(x.high)};
}

inline simd::Vector load_floats(const float* values) {
  return simd::load(values);
}
inline simd::Vector load_floats(const std::uint8_t* pixels) {
  return divide_by_255(simd::load_bytes(pixels));
}

}  // namespace quern::host
