// SPDX-License-Identifier: Apache-2.0
#include "linalg/cublas/products.hpp"

#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <memory>

#include "linalg/block_sum.hpp"
#include "linalg/cublas/status.hpp"
#include "linalg/rounding.hpp"

namespace quern::cublas {

namespace {

/// A row-major matrix, column by column.
Side seen(int rows, int columns, std::int64_t stride, bool transposed) {
  return {columns, rows, stride, transposed};
}

Side seen(const ConstMatrix& m, bool transposed) {
  return seen(m.rows, m.columns, m.stride, transposed);
}

// cuBLASLt wants its workspace aligned so, and a View begins 128 bytes behind what CUDA gives.
constexpr std::size_t kWorkspaceAlignment = 256;

void* aligned(const View<unsigned char>& workspace) {
  void* begin = workspace.data();
  std::size_t room = workspace.size();
  return std::align(kWorkspaceAlignment, kWorkspaceBytes, begin, room);
}

/// C = 0 where the mask is not above 0: the derivative of a ReLU, whose output the mask is.
void apply_mask(const ExecSpace& exec, const Matrix& c, const float* mask) {
  Kokkos::parallel_for(
      "quern::linalg::relu_mask", RangePolicy(exec, 0, std::int64_t{c.rows} * c.columns),
      KOKKOS_LAMBDA(std::int64_t i) {
        const std::int64_t at = i / c.columns * c.stride + i % c.columns;
        if (mask[at] <= 0) c.data[at] = 0;
      });
}

}  // namespace

Products::Products(OperandPrecision precision) : precision_(precision) {
  cublasLtHandle_t handle = nullptr;
  check(cublasLtCreate(&handle), "cublasLtCreate");
  handle_.reset(reinterpret_cast<cublasLtContext*>(handle));
  workspace_ = View<unsigned char>(
      Kokkos::view_alloc("quern::linalg::cublas_workspace", Kokkos::WithoutInitializing),
      kWorkspaceBytes + kWorkspaceAlignment);
}

const void* Products::RoundedOperand::round(const ExecSpace& exec, const ConstMatrix& operand) {
  const auto needed =
      static_cast<std::size_t>((operand.rows - 1) * operand.stride + operand.columns);
  if (rooms_.empty() || rooms_.back().extent(0) < needed) {
    rooms_.emplace_back(
        Kokkos::view_alloc("quern::linalg::cublas_operand", Kokkos::WithoutInitializing), needed);
  }
  round_to_bfloat16(exec, operand, rooms_.back());
  return rooms_.back().data();
}

void Products::run(const ExecSpace& exec, const char* label, const MatmulShape& shape,
                   const Matrix& c, const ConstMatrix& a, const ConstMatrix& b,
                   const Epilogue& epilogue) {
  if (c.rows == 0) return;
  const Kokkos::Profiling::ScopedRegion region(label);
  auto found = plans_.find(shape);
  if (found == plans_.end())
    found = plans_.emplace(shape, MatmulPlan(handle_.get(), shape, precision_)).first;
  const bool rounds = is_bf16(precision_);
  const void* a_operand = rounds ? a_.round(exec, a) : a.data;
  const void* b_operand = rounds ? b_.round(exec, b) : b.data;
  found->second.run(handle_.get(), exec.cuda_stream(), a_operand, b_operand, c.data, epilogue.bias,
                    aligned(workspace_));
  if (epilogue.relu_mask) apply_mask(exec, c, epilogue.relu_mask);
}

// Row-major C = A B is column-major C^T = B^T A^T: B comes first, and each is its own transpose.

void Products::multiply(const ExecSpace& exec, const char* label, const Matrix& c,
                        const ConstMatrix& a, const ConstMatrix& b, const Epilogue& epilogue) {
  const MatmulShape shape{seen(b, false), seen(a, false), seen(c.rows, c.columns, c.stride, false),
                          epilogue.bias != nullptr, epilogue.relu};
  run(exec, label, shape, c, b, a, epilogue);
}

void Products::multiply_transposed(const ExecSpace& exec, const char* label, const Matrix& c,
                                   const ConstMatrix& a, const ConstMatrix& b,
                                   const Epilogue& epilogue, const Copy&) {
  const MatmulShape shape{seen(b, true), seen(a, false), seen(c.rows, c.columns, c.stride, false),
                          epilogue.bias != nullptr, epilogue.relu};
  run(exec, label, shape, c, b, a, epilogue);
}

void Products::multiply_blocks(const ExecSpace& exec, const char* label,
                               const BlockSchedule& schedule, const GradientSums& partial_sums,
                               const GradientPlace& place, const ConstMatrix& a,
                               const ConstMatrix& b, const ColumnSums& column_sums,
                               const FloatView&) {
  // One, but for a piece of a batch.
  std::int64_t row = 0;
  for (int i = 0; i < schedule.num_partial_sums; ++i) {
    const int rows = schedule.partial_sum_blocks(i) * schedule.block_rows;
    const ConstMatrix own_a{a.data + row * a.stride, rows, a.columns, a.stride, a.panel};
    const ConstMatrix own_b{b.data + row * b.stride, rows, b.columns, b.stride, b.panel};
    const std::int64_t begin = i * partial_sums.stride + place.offset;
    const Matrix c{partial_sums.data.data() + begin, a.columns, b.columns, place.stride,
                   place.panel};
    const MatmulShape shape{seen(own_b, false), seen(own_a, true),
                            seen(c.rows, c.columns, c.stride, false), false, false};
    run(exec, label, shape, c, own_b, own_a, {});
    row += rows;
  }
  if (schedule.num_partial_sums == 0 || column_sums.offset < 0) return;
  block_tree_sum(exec, column_sums.label, schedule, b, partial_sums, column_sums.offset);
}

}  // namespace quern::cublas
