// SPDX-License-Identifier: Apache-2.0
#include "linalg/dense_products.hpp"

#include "linalg/block_sum.hpp"
#include "linalg/device/gemm.hpp"
#include "linalg/transpose.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

namespace {

/// The products of linalg/gemm.hpp: fp32, each element one chain of fused multiply-adds, by the
/// kernels of host/ or device/, with the same bits.
class PlainProducts final : public DenseProducts {
 public:
  void multiply(const ExecSpace& exec, const char* label, const Matrix& c, const ConstMatrix& a,
                const ConstMatrix& b, const Epilogue& epilogue) override;
  void multiply_transposed(const ExecSpace& exec, const char* label, const Matrix& c,
                           const ConstMatrix& a, const ConstMatrix& b, const Epilogue& epilogue,
                           const Copy& copy) override;
  /// A CPU reads whole vectors of B's columns.
  std::int64_t copy_floats(int n, int k) const override;
  void multiply_blocks(const ExecSpace& exec, const char* label, const BlockSchedule& schedule,
                       const GradientSums& partial_sums, const GradientPlace& place,
                       const ConstMatrix& a, const ConstMatrix& b, const ColumnSums& sums,
                       const FloatView& workspace) override;
};

void PlainProducts::multiply(const ExecSpace& exec, const char* label, const Matrix& c,
                             const ConstMatrix& a, const ConstMatrix& b, const Epilogue& epilogue) {
  quern::multiply(exec, label, c, a, b, epilogue);
}

void PlainProducts::multiply_transposed(const ExecSpace& exec, const char* label, const Matrix& c,
                                        const ConstMatrix& a, const ConstMatrix& b,
                                        const Epilogue& epilogue, const Copy& copy) {
  if (runs_device_kernels()) {
    device::multiply_transposed(exec, label, c, a, b, epilogue);
    return;
  }
  const Matrix columns = in_panels(copy.memory.data(), b.columns, b.rows);
  transpose(exec, copy.label, columns, b);
  quern::multiply(exec, label, c, a,
                  {columns.data, columns.rows, columns.columns, columns.stride, columns.panel},
                  epilogue);
}

std::int64_t PlainProducts::copy_floats(int n, int k) const {
  return runs_device_kernels() ? 0 : std::int64_t{k} * round_up_to_lanes(n);
}

void PlainProducts::multiply_blocks(const ExecSpace& exec, const char* label,
                                    const BlockSchedule& schedule, const GradientSums& partial_sums,
                                    const GradientPlace& place, const ConstMatrix& a,
                                    const ConstMatrix& b, const ColumnSums& sums,
                                    const FloatView&) {
  if (runs_device_kernels()) {
    device::multiply_and_sum_blocks(exec, label, schedule, partial_sums, place, a, b, sums.offset);
    return;
  }
  quern::multiply_blocks(exec, label, schedule, partial_sums, place, a, b);
  block_tree_sum(exec, sums.label, schedule, b, partial_sums, sums.offset);
}

}  // namespace

const std::shared_ptr<DenseProducts>& plain_products() {
  static const std::shared_ptr<DenseProducts> kProducts = std::make_shared<PlainProducts>();
  return kProducts;
}

}  // namespace quern
