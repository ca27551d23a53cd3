// SPDX-License-Identifier: Apache-2.0
// Dense products on the host back ends. Reference twin: linalg/reference/gemm.hpp.
#pragma once

#include <string>

#include "linalg/block_schedule.hpp"
#include "linalg/matrix.hpp"

namespace quern {

/// C = A B, plus bias[j] in column j unless bias is null. Overwrites C.
/// A [m, k], B [k, n], C [m, n], bias [n]. No aliasing. 2 m k n flop.
/// Reads whole vectors: rows of B and bias must be readable up to n rounded up to kLanes.
/// Deterministic: element (i, j) is one FMA chain over k, whatever m, n and the threads are.
void multiply(const ExecSpace& exec, const std::string& label, const Matrix& c,
              const ConstMatrix& a, const ConstMatrix& b, const float* bias);

/// Per partial p: sum over this rank's slots of A[s, i] B[s, j], added in the order of the block
/// tree, at partials.data[p * stride + offset + i * n + j]. Overwrites.
/// A [slots, m], B [slots, n]; rows of B readable up to n rounded up to kLanes.
/// This is the weight gradient of a linear layer: A = dy, B = x.
void multiply_blocks(const ExecSpace& exec, const std::string& label, const BlockSchedule& schedule,
                     const GradientPartials& partials, std::int64_t offset, const ConstMatrix& a,
                     const ConstMatrix& b);

}  // namespace quern
