// SPDX-License-Identifier: Apache-2.0
// Dense products. Reference: linalg/reference/gemm.hpp.
//
// host/ has the kernels of the CPU back ends, device/ those of the others: the same chain of fused
// multiply-adds for every element, so the same bits.
#pragma once

#include <string>

#include "linalg/block_schedule.hpp"
#include "linalg/matrix.hpp"

namespace quern {

/// What becomes of an element of a product before it is stored, in this order.
struct Epilogue {
  const float* bias = nullptr;       ///< [n]: added to each row
  bool relu = false;                 ///< values that are not above 0 become 0
  const float* relu_mask = nullptr;  ///< [m, n] laid out like C: C becomes 0 where the mask is not
                                     ///< above 0, the derivative of ReLU with this output

  /// Of the sum for the element at `place` of C, in column `column`.
  KOKKOS_INLINE_FUNCTION float apply(float sum, int column, std::int64_t place) const {
    float value = sum;
    if (bias) value += bias[column];
    if (relu) value = value <= 0 ? 0 : value;
    if (relu_mask) value = relu_mask[place] <= 0 ? 0 : value;
    return value;
  }
};

/// C = epilogue(A B). Overwrites C.
/// A [m, k], B [k, n], C [m, n]. No aliasing, except that the mask may be anything. 2 m k n flop.
/// Each may be in panels. Reads whole vectors: rows of B, bias and mask must be readable up to n
/// rounded up to kLanes. Deterministic: element (i, j) is one FMA chain over k, whatever m, n and
/// the threads are.
void multiply(const ExecSpace& exec, const std::string& label, const Matrix& c,
              const ConstMatrix& a, const ConstMatrix& b, const Epilogue& epilogue);

/// Partial sum p, at its `place`: A[s, i] B[s, j] over this rank's rows s, added in the order of
/// the block tree. Overwrites. A [rows, m], B [rows, n], each may be in panels; rows of B readable
/// up to n rounded up to kLanes. This is the weight gradient of a linear layer, transposed: A = x,
/// B = dy.
void multiply_blocks(const ExecSpace& exec, const std::string& label, const BlockSchedule& schedule,
                     const GradientSums& partial_sums, const GradientPlace& place,
                     const ConstMatrix& a, const ConstMatrix& b);

}  // namespace quern
