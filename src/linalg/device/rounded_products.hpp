// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "linalg/dense_products.hpp"

namespace quern::device {

/// Products with operands rounded to tf32 or bf16, on tensor cores. Sums are float; every element
/// is a sum in an order that depends on neither its tile nor the number of rows, and the sums of
/// blocks are added by the block tree: the same bits for any number of ranks.
class RoundedProducts final : public DenseProducts {
 public:
  /// Not fp32.
  explicit RoundedProducts(OperandPrecision precision);

  void multiply(const ExecSpace& exec, const char* label, const Matrix& c, const ConstMatrix& a,
                const ConstMatrix& b, const Epilogue& epilogue) override;
  void multiply_transposed(const ExecSpace& exec, const char* label, const Matrix& c,
                           const ConstMatrix& a, const ConstMatrix& b, const Epilogue& epilogue,
                           const Copy& copy) override;
  std::int64_t workspace_floats(int m, int n, std::int64_t stride, int max_rows) const override;
  /// Rows of the result become zero after the columns of B.
  void multiply_blocks(const ExecSpace& exec, const char* label, const BlockSchedule& schedule,
                       const GradientSums& partial_sums, const GradientPlace& place,
                       const ConstMatrix& a, const ConstMatrix& b, const ColumnSums& sums,
                       const FloatView& workspace) override;

 private:
  OperandPrecision precision_;
};

}  // namespace quern::device
