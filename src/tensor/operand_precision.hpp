// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace quern {

/// What the operands of products are rounded to; sums are float. Apart from kernel_choice.hpp,
/// because plans of a vendor's library are compiled without Kokkos.
enum class OperandPrecision {
  fp32,
  tf32,
  bf16,
  bf16_pairs,  ///< bf16, added pair by pair: on a CPU (linalg/host/bf16_tiles.hpp); else as bf16
};

/// Are operands rounded to bf16?
constexpr bool is_bf16(OperandPrecision precision) {
  return precision == OperandPrecision::bf16 || precision == OperandPrecision::bf16_pairs;
}

}  // namespace quern
