// SPDX-License-Identifier: Apache-2.0
// linalg/gemm.hpp on a device, the same bits; see there for what the functions do. All matrices are
// row-major.
//
// They run on a CPU as well (slowly), so that the tests can compare them with linalg/host/ there.
#pragma once

#include <string>

#include "linalg/block_schedule.hpp"
#include "linalg/gemm.hpp"
#include "linalg/matrix.hpp"

namespace quern::device {

void multiply(const ExecSpace& exec, const std::string& label, const Matrix& c,
              const ConstMatrix& a, const ConstMatrix& b, const Epilogue& epilogue);

/// C = epilogue(A B^T), B [n, k]. Otherwise as multiply().
void multiply_transposed(const ExecSpace& exec, const std::string& label, const Matrix& c,
                         const ConstMatrix& a, const ConstMatrix& b, const Epilogue& epilogue);

void multiply_blocks(const ExecSpace& exec, const std::string& label, const BlockSchedule& schedule,
                     const GradientSums& partial_sums, const GradientPlace& place,
                     const ConstMatrix& a, const ConstMatrix& b);

/// multiply_blocks(), and in the same pass block_tree_sum() of B, at the offset `sums`:
/// the product with a row of ones more in A^T.
void multiply_and_sum_blocks(const ExecSpace& exec, const std::string& label,
                             const BlockSchedule& schedule, const GradientSums& partial_sums,
                             const GradientPlace& place, const ConstMatrix& a, const ConstMatrix& b,
                             std::int64_t sums);

}  // namespace quern::device
