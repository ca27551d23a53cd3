// SPDX-License-Identifier: Apache-2.0
// Sums over the units of rows on a device: a team has 16 rows, a thread one lane of sums. The order
// of additions is that of a CPU: in nc, lane l of a row sums the units l, l + 16, ..., then the
// lanes are added as a tree; in nchw16n, a row sums all its units in order.
#pragma once

#include "base/ceil_div.hpp"
#include "loss/loss.hpp"
#include "tensor/team.hpp"

namespace quern::device {

/// What every such loss knows of its rows.
struct LossRows {
  float* values;  ///< [rows, Loss::kColumns]
  const std::int64_t* sample_of_row;
  const StepScalars* scalars;
  int units;
  int rows;
  Layout layout;  ///< nc or nchw16n

  KOKKOS_INLINE_FUNCTION bool is_nc() const { return layout == Layout::nc; }
  /// Of a derivative, times `of`; 0 in an empty row.
  KOKKOS_INLINE_FUNCTION float factor(std::int64_t row, float of = 1) const {
    return sample_of_row[row] >= 0 ? of * scalars->inverse_count / static_cast<float>(units) : 0;
  }
};

/// Of the units of a lane.
struct LaneSums {
  float cost = 0;
  float correct = 0;
};

/// Overwrites the values of all rows with the mean cost of a unit and the number of right answers.
/// Lanes: a LossRows, and LaneSums sum_lane(std::int64_t row, int lane), which may write what
/// belongs to that lane. In nchw16n, where a row has one chain only, lane 0 sums.
template <class Lanes, int Threads = kTeamThreads<kLanes * kLanes>>
struct RowSumsTeam {
  static constexpr int kThreads = Threads;
  static constexpr int kRows = kLanes;
  static constexpr std::size_t kScratchBytes = scratch_bytes(2 * kRows * kLanes, 2);

  Lanes lanes;

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    float* costs = scratch_floats(team, kRows * kLanes);
    float* correct = scratch_floats(team, kRows * kLanes);
    const std::int64_t first = team.league_rank() * kRows;
    const bool is_nc = lanes.is_nc();
    for (int item = team.team_rank(); item < kRows * kLanes; item += Threads) {
      // Neighbouring threads: the lanes of a row in nc, the rows of a unit in nchw16n.
      const int row = is_nc ? item / kLanes : item % kLanes;
      const int lane = is_nc ? item % kLanes : item / kLanes;
      if (first + row >= lanes.rows) continue;
      const LaneSums sums = lanes.sum_lane(first + row, lane);
      costs[row * kLanes + lane] = sums.cost;
      correct[row * kLanes + lane] = sums.correct;
    }
    team.team_barrier();
    for (int row = team.team_rank(); row < kRows; row += Threads) {
      if (first + row >= lanes.rows) continue;
      const bool filled = lanes.sample_of_row[first + row] >= 0;
      const float cost = row_total(costs + row * kLanes, is_nc);
      const float right = row_total(correct + row * kLanes, is_nc);
      float* value = lanes.values + (first + row) * Loss::kColumns;
      value[Loss::kLoss] = filled ? cost / static_cast<float>(lanes.units) : 0;
      value[Loss::kCorrect] = filled ? right : 0;
    }
  }

 private:
  /// Of the sums of a row's lanes, which it overwrites in nc.
  static KOKKOS_INLINE_FUNCTION float row_total(float* sum, bool is_nc) {
    if (is_nc)
      for (int width = kLanes / 2; width > 0; width /= 2)
        for (int l = 0; l < width; ++l) sum[l] += sum[l + width];
    return sum[0];
  }
};

template <class Lanes>
void sum_rows(const ExecSpace& exec, const std::string& label, const Lanes& lanes) {
  using Kernel = RowSumsTeam<Lanes>;
  for_each_team(exec, label, ceil_div(lanes.rows, Kernel::kRows), Kernel{lanes});
}

}  // namespace quern::device
