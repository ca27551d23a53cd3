// SPDX-License-Identifier: Apache-2.0
// TensorFloat-32: a float with 10 bits of mantissa instead of 23, which tensor cores multiply.
#pragma once

#include <cstdint>

#include "tensor/types.hpp"

namespace quern {

/// The nearest float whose last 13 bits are zero, ties away from zero (PTX: cvt.rna.tf32.f32). What
/// is not finite stays what it is.
KOKKOS_INLINE_FUNCTION float to_tf32(float value) {
  const auto bits = Kokkos::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7F800000u) == 0x7F800000u) return value;
  return Kokkos::bit_cast<float>((bits + 0x1000u) & ~0x1FFFu);
}

}  // namespace quern
