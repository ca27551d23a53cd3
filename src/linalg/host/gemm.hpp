// SPDX-License-Identifier: Apache-2.0
// linalg/gemm.hpp on a CPU, vectorised. What the functions do stands there; and a transpose.
#pragma once

#include <string>

#include "linalg/block_schedule.hpp"
#include "linalg/gemm.hpp"
#include "linalg/matrix.hpp"

namespace quern::host {

void multiply(const ExecSpace& exec, const std::string& label, const Matrix& c,
              const ConstMatrix& a, const ConstMatrix& b, const Epilogue& epilogue);

void multiply_blocks(const ExecSpace& exec, const std::string& label, const BlockSchedule& schedule,
                     const GradientSums& partial_sums, const GradientPlace& place,
                     const ConstMatrix& a, const ConstMatrix& b);

/// B = A^T. A [m, n], B [n, m], each row-major or in panels; overwrites the n x m part of B,
/// padding columns stay as they are. Rows of A must be readable up to n rounded up to kLanes. No
/// aliasing.
void transpose(const ExecSpace& exec, const std::string& label, const Matrix& b,
               const ConstMatrix& a);

}  // namespace quern::host
