// SPDX-License-Identifier: Apache-2.0
// The products of a linear layer as a choice (tensor/kernel_choice.hpp): the kernels of
// linalg/gemm.hpp, a vendor's library, or operands rounded for tensor cores.
#pragma once

#include <memory>

#include "linalg/gemm.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

class DenseProducts {
 public:
  /// Scratch memory for a copy of B in multiply_transposed(), and the label of the kernel that
  /// writes it.
  struct Copy {
    FloatView workspace;  ///< workspace_floats()
    const char* label;
  };
  /// The sums of B's columns in multiply_blocks(): their offset in each partial sum, below 0 where
  /// they are not wanted, and the label of their kernel, if they need one.
  struct ColumnSums {
    std::int64_t offset;
    const char* label;
  };

  DenseProducts() = default;
  virtual ~DenseProducts() = default;
  DenseProducts(const DenseProducts&) = delete;
  DenseProducts& operator=(const DenseProducts&) = delete;

  // Each overwrites its result; no aliasing. Matrices are row-major, their rows begin on 16 bytes;
  // those of the host's own products may be in panels. `label` names the kernel or region that a
  // profiler shows. The first product of a shape may be planned; later ones only run.

  /// C = epilogue(A B). A [m, k], B [k, n].
  virtual void multiply(const ExecSpace& exec, const char* label, const Matrix& c,
                        const ConstMatrix& a, const ConstMatrix& b, const Epilogue& epilogue) = 0;
  /// C = epilogue(A B^T). A [m, k], B [n, k]. Overwrites the workspace.
  virtual void multiply_transposed(const ExecSpace& exec, const char* label, const Matrix& c,
                                   const ConstMatrix& a, const ConstMatrix& b,
                                   const Epilogue& epilogue, const Copy& copy) = 0;
  /// Partial sum p, at its `place`: A[s, i] B[s, j] added over rows s; and B[s, j] at `sums`,
  /// if they are wanted.
  /// A [rows, m], B [rows, n]. Overwrites the workspace.
  virtual void multiply_blocks(const ExecSpace& exec, const char* label,
                               const BlockSchedule& schedule, const GradientSums& partial_sums,
                               const GradientPlace& place, const ConstMatrix& a,
                               const ConstMatrix& b, const ColumnSums& sums,
                               const FloatView& workspace) = 0;
  /// Floats of workspace that they need for weights [rows, columns], `stride` floats from row to
  /// row, which are B in multiply_transposed() and the shape of the result in multiply_blocks(),
  /// there of at most `max_rows` rows of A and B.
  virtual std::int64_t workspace_floats(int /*rows*/, int /*columns*/, std::int64_t /*stride*/,
                                        int /*max_rows*/) const {
    return 0;
  }
};

/// Does this build have a library of the device's vendor for them?
bool has_vendor_products();

/// fp32: each element is one chain of fused multiply-adds, as in linalg/gemm.hpp. tf32 and bf16:
/// operands are rounded and sums have a fixed order, on devices; on a CPU they are those of fp32,
/// because linear layers multiply bf16 in tiles there (layers/linear_kernels.hpp). With `any_order`
/// the vendor's library, on tensor cores where there are some.
std::shared_ptr<DenseProducts> choose_products(const KernelChoice& choice = {});

// The sets; those that keep nothing are one object.
namespace host {
std::shared_ptr<DenseProducts> dense_products(OperandPrecision);
}
namespace device {
std::shared_ptr<DenseProducts> dense_products(OperandPrecision);
/// Not fp32.
std::shared_ptr<DenseProducts> rounded_products(OperandPrecision precision);
}  // namespace device

}  // namespace quern
