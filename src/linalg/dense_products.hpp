// SPDX-License-Identifier: Apache-2.0
// The products of a linear layer as a choice: by a vendor's library, or with operands rounded for
// tensor cores. Without one, layers use linalg/gemm.hpp.
#pragma once

#include <string>

#include "linalg/gemm.hpp"
#include "linalg/operand_precision.hpp"

namespace quern {

class DenseProducts {
 public:
  DenseProducts() = default;
  virtual ~DenseProducts() = default;
  DenseProducts(const DenseProducts&) = delete;
  DenseProducts& operator=(const DenseProducts&) = delete;

  // Each overwrites its result; no aliasing. Matrices are row-major, their rows begin on 16 bytes.
  // `label` names the kernel or region that a profiler shows. The first product of a shape may be
  // planned; later ones only run.

  /// C = epilogue(A B). A [m, k], B [k, n].
  virtual void multiply(const ExecSpace& exec, const std::string& label, const Matrix& c,
                        const ConstMatrix& a, const ConstMatrix& b, const Epilogue& epilogue) = 0;
  /// C = epilogue(A B^T). A [m, k], B [n, k].
  virtual void multiply_transposed(const ExecSpace& exec, const std::string& label, const Matrix& c,
                                   const ConstMatrix& a, const ConstMatrix& b,
                                   const Epilogue& epilogue) = 0;
  /// Floats of scratch memory that multiply_blocks() needs for at most `max_rows` rows and
  /// results of m rows, `stride` floats each.
  virtual std::int64_t workspace_floats(int /*m*/, std::int64_t /*stride*/,
                                        int /*max_rows*/) const {
    return 0;
  }
  /// Partial sum p, at its `place`: A[s, i] B[s, j] added over rows s. A [rows, m],
  /// B [rows, n]. Overwrites the workspace.
  virtual void multiply_blocks(const ExecSpace& exec, const std::string& label,
                               const BlockSchedule& schedule, const GradientSums& partial_sums,
                               const GradientPlace& place, const ConstMatrix& a,
                               const ConstMatrix& b, const FloatView& workspace) = 0;
};

}  // namespace quern
