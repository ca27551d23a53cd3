// SPDX-License-Identifier: Apache-2.0
#include "linalg/device/gemm.hpp"

#include "base/assert.hpp"
#include "linalg/device/product_outputs.hpp"
#include "linalg/device/tiled_product.hpp"

namespace quern::device {

namespace {

// Few teams of small tiles leave most of a device idle, many of them read each operand too often.
using SmallTile = TileShape<16, 16, 2, 2, 16>;
using LargeTile = TileShape<64, 64, 4, 4, 16>;
constexpr std::int64_t kEnoughTeams = 100;

// A stack this deep is enough for 128 blocks, where one rank owns all of them.
constexpr int kUsualDepth = 8;

template <bool ADepthFirst, bool BDepthFirst, class Output>
void run(const ExecSpace& exec, const std::string& label, const Operand& a, const Operand& b,
         const DepthBlocks& depth, const Output& output) {
  const TiledProduct<LargeTile, ADepthFirst, BDepthFirst, Output> large{a, b, depth, output};
  if (large.num_teams() >= kEnoughTeams) {
    for_each_team(exec, label, large.num_teams(), large);
    return;
  }
  const TiledProduct<SmallTile, ADepthFirst, BDepthFirst, Output> small{a, b, depth, output};
  for_each_team(exec, label, small.num_teams(), small);
}

Operand rows_of(const ConstMatrix& m) {
  expect(m.panel == kLanes, "a row-major matrix");
  return {m.data, m.rows, m.stride, 1};
}

Operand columns_of(const ConstMatrix& m) {
  expect(m.panel == kLanes, "a row-major matrix");
  return {m.data, m.columns, 1, m.stride};
}

}  // namespace

void multiply(const ExecSpace& exec, const std::string& label, const Matrix& c,
              const ConstMatrix& a, const ConstMatrix& b, const Epilogue& epilogue) {
  run<true, false>(exec, label, rows_of(a), columns_of(b), {1, a.columns},
                   EpilogueOutput{c, epilogue});
}

void multiply_transposed(const ExecSpace& exec, const std::string& label, const Matrix& c,
                         const ConstMatrix& a, const ConstMatrix& b, const Epilogue& epilogue) {
  run<true, true>(exec, label, rows_of(a), rows_of(b), {1, a.columns}, EpilogueOutput{c, epilogue});
}

namespace {

// A's row `ones`, if not negative, is all ones; its sums go to `sums`.
void run_blocks(const ExecSpace& exec, const std::string& label, const BlockSchedule& schedule,
                const GradientSums& partial_sums, const GradientPlace& place, const Operand& a,
                const ConstMatrix& b, float* sums) {
  expect(place.panel == kLanes, "a row-major gradient");
  const int rows = a.ones < 0 ? a.outer : a.ones;
  const auto launch = [&]<int Depth>() {
    run<false, false>(
        exec, label, a, columns_of(b), {schedule.num_blocks, schedule.block_rows},
        PartialSumsOutput<Depth>{schedule.merges.data(), partial_sums.data.data() + place.offset,
                                 partial_sums.stride, place.stride, schedule.num_partial_sums, rows,
                                 b.columns, sums});
  };
  if (schedule.depth <= kUsualDepth)
    launch.template operator()<kUsualDepth>();
  else
    launch.template operator()<BlockSchedule::kMaxDepth>();
}

}  // namespace

void multiply_blocks(const ExecSpace& exec, const std::string& label, const BlockSchedule& schedule,
                     const GradientSums& partial_sums, const GradientPlace& place,
                     const ConstMatrix& a, const ConstMatrix& b) {
  run_blocks(exec, label, schedule, partial_sums, place, columns_of(a), b, nullptr);
}

void multiply_and_sum_blocks(const ExecSpace& exec, const std::string& label,
                             const BlockSchedule& schedule, const GradientSums& partial_sums,
                             const GradientPlace& place, const ConstMatrix& a, const ConstMatrix& b,
                             std::int64_t sums) {
  Operand with_ones = columns_of(a);
  with_ones.ones = with_ones.outer++;
  run_blocks(exec, label, schedule, partial_sums, place, with_ones, b,
             partial_sums.data.data() + sums);
}

}  // namespace quern::device
