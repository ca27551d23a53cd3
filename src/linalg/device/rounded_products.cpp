// SPDX-License-Identifier: Apache-2.0
#include "linalg/device/rounded_products.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "linalg/block_sum.hpp"
#include "linalg/device/dense_problems.hpp"
#include "linalg/device/slice_tree.hpp"

namespace quern::device {

namespace {

// Few tiles leave most of a device idle.
constexpr int kEnoughLargeTeams = 200;
constexpr int kLargeRowTiles = 4;

template <class Run>
void with_operand(OperandPrecision precision, const Run& run) {
  if (precision == OperandPrecision::tf32)
    run.template operator()<Tf32Operand>();
  else
    run.template operator()<Bf16Operand>();
}

void expect_rows(const ConstMatrix& m) {
  expect(m.panel == kLanes && m.stride % 4 == 0, "a row-major matrix of rows from 16 bytes on");
}

template <bool BDepthFirst>
void run(const ExecSpace& exec, const std::string& label, OperandPrecision precision,
         const Matrix& c, const ConstMatrix& a, const ConstMatrix& b, const Epilogue& epilogue) {
  expect_rows(a);
  expect_rows(b);
  with_operand(precision, [&]<class Operand>() {
    const auto launch = [&]<int RowTiles>() {
      const EpilogueProblem<RowTiles, BDepthFirst> problem{
          {a.data, a.stride, c.rows}, {b.data, b.stride, c.columns}, a.columns, c, epilogue};
      const int teams = problem.tiles().count();
      if (RowTiles > 1 && teams < kEnoughLargeTeams) return false;
      for_each_team(exec, label, teams,
                    TensorProduct<EpilogueProblem<RowTiles, BDepthFirst>, Operand>{problem});
      return true;
    };
    if (!launch.template operator()<kLargeRowTiles>()) launch.template operator()<1>();
  });
}

using BlockTiles = MatrixTiles<kLargeRowTiles>;
using Blocks = BlocksProblem<kLargeRowTiles>;

}  // namespace

RoundedProducts::RoundedProducts(OperandPrecision precision) : precision_(precision) {
  expect(precision != OperandPrecision::fp32, "a precision of tensor cores");
}

void RoundedProducts::multiply(const ExecSpace& exec, const char* label, const Matrix& c,
                               const ConstMatrix& a, const ConstMatrix& b,
                               const Epilogue& epilogue) {
  run<false>(exec, label, precision_, c, a, b, epilogue);
}

void RoundedProducts::multiply_transposed(const ExecSpace& exec, const char* label, const Matrix& c,
                                          const ConstMatrix& a, const ConstMatrix& b,
                                          const Epilogue& epilogue, const Copy&) {
  run<true>(exec, label, precision_, c, a, b, epilogue);
}

std::int64_t RoundedProducts::workspace_floats(int m, int /*n*/, std::int64_t stride,
                                               int max_rows) const {
  const int tiles = BlockTiles{m, static_cast<int>(stride)}.count();
  return (blocks_of_round(tiles, max_rows) + most_depth(max_rows)) * m * stride;
}

void RoundedProducts::multiply_blocks(const ExecSpace& exec, const char* label,
                                      const BlockSchedule& schedule,
                                      const GradientSums& partial_sums, const GradientPlace& place,
                                      const ConstMatrix& a, const ConstMatrix& b,
                                      const ColumnSums& column_sums, const FloatView& workspace) {
  expect_rows(a);
  expect_rows(b);
  expect(place.panel == kLanes, "a row-major gradient");
  const int stride = static_cast<int>(place.stride);
  const std::int64_t values = a.columns * place.stride;
  const int round = blocks_of_round(BlockTiles{a.columns, stride}.count(), schedule.num_blocks);
  expect((schedule.depth + round) * values <= static_cast<std::int64_t>(workspace.extent(0)),
         "workspace for the blocks of a round");
  float* stack = workspace.data();
  float* sums = stack + schedule.depth * values;
  for (int begin = 0; begin < schedule.num_blocks; begin += round) {
    const int end = std::min(begin + round, schedule.num_blocks);
    const Blocks problem{{a.data, a.stride, a.columns},
                         {b.data, b.stride, b.columns},
                         stride,
                         schedule.block_rows,
                         begin,
                         end - begin,
                         sums};
    with_operand(precision_, [&]<class Operand>() {
      for_each_team(exec, label, problem.num_teams(), TensorProduct<Blocks, Operand>{problem});
    });
    SliceTree{sums, 1, values, stack}.push(exec, "quern::linalg::add_blocks", schedule, begin, end,
                                           partial_sums, place.offset);
  }
  if (column_sums.offset < 0) return;
  quern::block_tree_sum(exec, column_sums.label, schedule, b, partial_sums, column_sums.offset);
}

std::shared_ptr<DenseProducts> rounded_products(OperandPrecision precision) {
  return std::make_shared<RoundedProducts>(precision);
}

}  // namespace quern::device
