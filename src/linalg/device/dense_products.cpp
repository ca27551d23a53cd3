// SPDX-License-Identifier: Apache-2.0
#include "linalg/dense_products.hpp"

#include "linalg/device/gemm.hpp"

namespace quern::device {

namespace {

class Products final : public DenseProducts {
 public:
  void multiply(const ExecSpace& exec, const char* label, const Matrix& c, const ConstMatrix& a,
                const ConstMatrix& b, const Epilogue& epilogue) override {
    device::multiply(exec, label, c, a, b, epilogue);
  }

  void multiply_transposed(const ExecSpace& exec, const char* label, const Matrix& c,
                           const ConstMatrix& a, const ConstMatrix& b, const Epilogue& epilogue,
                           const Copy&) override {
    device::multiply_transposed(exec, label, c, a, b, epilogue);
  }

  void multiply_blocks(const ExecSpace& exec, const char* label, const BlockSchedule& schedule,
                       const GradientSums& partial_sums, const GradientPlace& place,
                       const ConstMatrix& a, const ConstMatrix& b, const ColumnSums& sums,
                       const FloatView&) override {
    if (sums.offset < 0)
      return device::multiply_blocks(exec, label, schedule, partial_sums, place, a, b);
    multiply_and_sum_blocks(exec, label, schedule, partial_sums, place, a, b, sums.offset);
  }
};

}  // namespace

std::shared_ptr<DenseProducts> dense_products(OperandPrecision) {
  static const auto products = std::make_shared<Products>();
  return products;
}

}  // namespace quern::device
