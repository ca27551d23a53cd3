// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "linalg/matrix.hpp"
#include "tensor/types.hpp"

namespace quern {

/// B = A^T. A [m, n], B [n, m], each row-major or in panels; overwrites the n x m part of B,
/// padding columns stay as they are. Rows of A must be readable up to n rounded up to kLanes. No
/// aliasing.
void transpose(const ExecSpace& exec, const std::string& label, const Matrix& b,
               const ConstMatrix& a);

}  // namespace quern
