// SPDX-License-Identifier: Apache-2.0
// What tensor cores multiply.
// TensorFloat-32: a float with 10 bits of mantissa instead of 23.
// bfloat16: the upper half of a float, so its range is a float's and no loss has to be scaled.
#pragma once

#include <cstdint>

#include "linalg/matrix.hpp"
#include "tensor/types.hpp"

namespace quern {

/// The nearest float whose last 13 bits are zero, ties away from zero (PTX: cvt.rna.tf32.f32). What
/// is not finite stays what it is.
KOKKOS_INLINE_FUNCTION float to_tf32(float value) {
  const auto bits = Kokkos::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7F800000u) == 0x7F800000u) return value;
  return Kokkos::bit_cast<float>((bits + 0x1000u) & ~0x1FFFu);
}

/// Bits of the nearest bfloat16, ties to even; NaN stays NaN.
KOKKOS_INLINE_FUNCTION std::uint16_t to_bfloat16(float value) {
  const auto bits = Kokkos::bit_cast<std::uint32_t>(value);
  if (value != value) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

KOKKOS_INLINE_FUNCTION float from_bfloat16(std::uint16_t bits) {
  return Kokkos::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// Rounds a matrix. Overwrites `to`, whose rows follow each other at the same stride; what is
/// between the rows is rounded as well, so `from` must be readable there.
inline void round_to_bfloat16(const ExecSpace& exec, const ConstMatrix& from,
                              const View<std::uint16_t>& to) {
  const float* in = from.data;
  std::uint16_t* out = to.data();
  Kokkos::parallel_for(
      "quern::linalg::round_to_bfloat16",
      RangePolicy(exec, 0, (from.rows - 1) * from.stride + from.columns),
      KOKKOS_LAMBDA(std::int64_t i) { out[i] = to_bfloat16(in[i]); });
}

}  // namespace quern
