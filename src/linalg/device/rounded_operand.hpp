// SPDX-License-Identifier: Apache-2.0
// How tensor cores are given their operands.
#pragma once

#include <cstdint>

#include "linalg/rounding.hpp"

namespace quern::device {

/// Operands of TensorFloat-32. kDepth: k of one multiplication of tiles.
struct Tf32Operand {
  using Stored = float;
  static constexpr int kDepth = 8;
  KOKKOS_INLINE_FUNCTION static Stored round(float value) { return to_tf32(value); }
  KOKKOS_INLINE_FUNCTION static float value(Stored stored) { return stored; }
};

/// Operands of bfloat16.
struct Bf16Operand {
  using Stored = std::uint16_t;
  static constexpr int kDepth = 16;
  KOKKOS_INLINE_FUNCTION static Stored round(float value) { return to_bfloat16(value); }
  KOKKOS_INLINE_FUNCTION static float value(Stored stored) { return from_bfloat16(stored); }
};

}  // namespace quern::device
