// SPDX-License-Identifier: Apache-2.0
// linalg/gemm.hpp and linalg/transpose.hpp on a CPU, vectorised. What the functions do stands
// there.
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

void transpose(const ExecSpace& exec, const std::string& label, const Matrix& b,
               const ConstMatrix& a);

}  // namespace quern::host
