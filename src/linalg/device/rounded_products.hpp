// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>

#include "linalg/dense_products.hpp"

namespace quern::device {

/// Products with operands rounded to tf32 or bf16, on tensor cores. Sums are float; every element
/// is a sum in an order that depends on neither its tile nor the number of rows, and the sums of
/// blocks are added by the block tree: the same bits for any number of ranks.
class RoundedProducts final : public DenseProducts {
 public:
  /// Not fp32.
  explicit RoundedProducts(OperandPrecision precision);

  void multiply(const ExecSpace& exec, const std::string& label, const Matrix& c,
                const ConstMatrix& a, const ConstMatrix& b, const Epilogue& epilogue) override;
  void multiply_transposed(const ExecSpace& exec, const std::string& label, const Matrix& c,
                           const ConstMatrix& a, const ConstMatrix& b,
                           const Epilogue& epilogue) override;
  /// Rows of the result become zero behind the columns of B.
  void multiply_blocks(const ExecSpace& exec, const std::string& label,
                       const BlockSchedule& schedule, const GradientPartials& partials,
                       const GradientPlace& place, const ConstMatrix& a,
                       const ConstMatrix& b) override;

 private:
  /// Room for the sums of a launch and for the walk over the tree. It stays where it is: a captured
  /// step may use it.
  FloatView workspace(std::int64_t floats, std::int64_t place);

  OperandPrecision precision_;
  std::map<std::pair<std::int64_t, std::int64_t>, FloatView> workspaces_;
};

/// Does this build multiply on tensor cores? Otherwise RoundedProducts and the convolutions that
/// round serve for tests only.
bool has_tensor_cores();

}  // namespace quern::device
