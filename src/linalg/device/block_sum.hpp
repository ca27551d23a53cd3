// SPDX-License-Identifier: Apache-2.0
// linalg/block_sum.hpp on a device: blocks side by side, the same order of additions.
#pragma once

#include <string>

#include "base/assert.hpp"
#include "base/ceil_div.hpp"
#include "linalg/block_schedule.hpp"
#include "linalg/device/block_stack.hpp"
#include "linalg/matrix.hpp"
#include "tensor/team.hpp"

namespace quern::device {

/// A team sums 32 columns: a round of blocks side by side, then their tree.
template <int Threads = kTeamThreads<256>>
struct ColumnSums {
  static constexpr int kThreads = Threads;
  static constexpr int kColumns = 32;
  static constexpr int kRound = 8;  ///< blocks
  using Stack = BlockStack<kColumns, kRound, Threads>;
  static constexpr std::size_t kScratchBytes = Stack::kScratchBytes;

  BlockTraversal traversal;
  int block_rows;
  const float* values;
  std::int64_t row_stride;
  std::int64_t columns;
  float* sums;
  std::int64_t partial_stride;

  std::int64_t num_teams() const { return ceil_div(columns, kColumns); }

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    Stack stack(team);
    const std::int64_t first = std::int64_t{team.league_rank()} * kColumns;
    for (int begin = 0; begin < traversal.num_blocks; begin += kRound) {
      for (int item = team.team_rank(); item < kColumns * kRound; item += Threads) {
        const int block = begin + item / kColumns;
        const std::int64_t column = first + item % kColumns;
        if (block < traversal.num_blocks && column < columns)
          stack.round(item / kColumns)[item % kColumns] = block_sum(block, column);
      }
      stack.push_round(team, traversal, begin);
    }
    stack.store(team, traversal, [&](int partial, int c, float sum) {
      if (first + c < columns) sums[partial * partial_stride + first + c] = sum;
    });
  }

  KOKKOS_INLINE_FUNCTION float block_sum(int block, std::int64_t column) const {
    const float* value = values + std::int64_t{block} * block_rows * row_stride + column;
    float sum = 0;
    for (int s = 0; s < block_rows; ++s, value += row_stride) sum += *value;
    return sum;
  }
};

inline void block_tree_sum(const ExecSpace& exec, const std::string& label,
                           const BlockSchedule& schedule, const ConstMatrix& values,
                           const GradientSums& partial_sums, std::int64_t offset) {
  expect(values.panel == kLanes, "values in rows, on a device");
  const ColumnSums<> kernel{
      traversal_of(schedule), schedule.block_rows, values.data,
      values.stride,          values.columns,      partial_sums.data.data() + offset,
      partial_sums.stride};
  for_each_team(exec, label, kernel.num_teams(), kernel);
}

}  // namespace quern::device
