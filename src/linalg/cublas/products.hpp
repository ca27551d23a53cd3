// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "linalg/cublas/matmul_plan.hpp"
#include "linalg/dense_products.hpp"

namespace quern::cublas {

/// DenseProducts by cuBLASLt. One handle, one workspace and one plan for each shape; products on
/// one instance of ExecSpace at a time.
class Products final : public DenseProducts {
 public:
  explicit Products(OperandPrecision precision);

  void multiply(const ExecSpace& exec, const char* label, const Matrix& c, const ConstMatrix& a,
                const ConstMatrix& b, const Epilogue& epilogue) override;
  void multiply_transposed(const ExecSpace& exec, const char* label, const Matrix& c,
                           const ConstMatrix& a, const ConstMatrix& b, const Epilogue& epilogue,
                           const Copy& copy) override;
  /// One sum over all blocks at once: serves fast sums, of which a rank has one partial sum or
  /// none.
  void multiply_blocks(const ExecSpace& exec, const char* label, const BlockSchedule& schedule,
                       const GradientSums& partial_sums, const GradientPlace& place,
                       const ConstMatrix& a, const ConstMatrix& b, const ColumnSums& sums,
                       const FloatView& workspace) override;

 private:
  struct DestroyHandle {
    void operator()(cublasLtHandle_t handle) const { cublasLtDestroy(handle); }
  };
  /// Room for an operand as bfloat16. What was too small is kept: a captured step may read it.
  class RoundedOperand {
   public:
    /// The operand, on `exec`, after what was there before was read.
    const void* round(const ExecSpace& exec, const ConstMatrix& operand);

   private:
    std::vector<View<std::uint16_t>> rooms_;
  };

  void run(const ExecSpace& exec, const char* label, const MatmulShape& shape, const Matrix& c,
           const ConstMatrix& a, const ConstMatrix& b, const Epilogue& epilogue);

  OperandPrecision precision_;
  std::unique_ptr<cublasLtContext, DestroyHandle> handle_;
  View<unsigned char> workspace_;
  std::map<MatmulShape, MatmulPlan> plans_;
  // One pair for all products: they run one after the other.
  RoundedOperand a_;
  RoundedOperand b_;
};

}  // namespace quern::cublas
