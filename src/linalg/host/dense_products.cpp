// SPDX-License-Identifier: Apache-2.0
#include "linalg/dense_products.hpp"

#include "base/assert.hpp"
#include "linalg/block_sum.hpp"
#include "linalg/host/gemm.hpp"

namespace quern::host {

namespace {

class Products final : public DenseProducts {
 public:
  void multiply(const ExecSpace& exec, const char* label, const Matrix& c, const ConstMatrix& a,
                const ConstMatrix& b, const Epilogue& epilogue) override {
    host::multiply(exec, label, c, a, b, epilogue);
  }

  // Vectors are read along the rows of a transposed copy. Their padding stays as it was: nobody
  // stores what comes of it.
  void multiply_transposed(const ExecSpace& exec, const char* label, const Matrix& c,
                           const ConstMatrix& a, const ConstMatrix& b, const Epilogue& epilogue,
                           const Copy& copy) override {
    expect(workspace_floats(b.rows, b.columns, 0, 0) <=
               static_cast<std::int64_t>(copy.workspace.extent(0)),
           "workspace for the copy");
    const Matrix columns = in_panels(copy.workspace.data(), b.columns, b.rows);
    host::transpose(exec, copy.label, columns, b);
    host::multiply(exec, label, c, a,
                   {columns.data, columns.rows, columns.columns, columns.stride, columns.panel},
                   epilogue);
  }

  // For that copy.
  std::int64_t workspace_floats(int rows, int columns, std::int64_t, int) const override {
    return std::int64_t{columns} * round_up_to_lanes(rows);
  }

  void multiply_blocks(const ExecSpace& exec, const char* label, const BlockSchedule& schedule,
                       const GradientSums& partial_sums, const GradientPlace& place,
                       const ConstMatrix& a, const ConstMatrix& b, const ColumnSums& sums,
                       const FloatView&) override {
    host::multiply_blocks(exec, label, schedule, partial_sums, place, a, b);
    if (sums.offset < 0) return;
    quern::block_tree_sum(exec, sums.label, schedule, b, partial_sums, sums.offset);
  }
};

}  // namespace

std::shared_ptr<DenseProducts> dense_products(OperandPrecision) {
  static const auto products = std::make_shared<Products>();
  return products;
}

}  // namespace quern::host
