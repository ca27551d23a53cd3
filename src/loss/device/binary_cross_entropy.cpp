// SPDX-License-Identifier: Apache-2.0
// Binary cross entropy on a device: a team has 16 rows, a thread one lane of sums. The order of
// additions is that of a CPU: in nc, lane l of a row sums the units l, l + 16, ..., then the lanes
// are added as a tree; in nchw16n, a row sums all its units in order.
#include "base/assert.hpp"
#include "base/ceil_div.hpp"
#include "loss/binary_cross_entropy_kernels.hpp"
#include "tensor/team.hpp"

namespace quern::device {

namespace {

template <int Threads = kTeamThreads<kLanes * kLanes>>
struct BinaryTeam {
  static constexpr int kThreads = Threads;
  static constexpr int kRows = kLanes;
  static constexpr std::size_t kScratchBytes = scratch_bytes(kRows * kLanes, 1);

  const float* prediction;
  const float* target;
  float* d_prediction;  ///< or null
  float* values;        ///< [rows, Loss::kColumns]
  const std::int64_t* sample_of_row;
  const StepScalars* scalars;
  ActivationIndex at;
  int units;
  int padded_units;
  int rows;

  int num_teams() const { return ceil_div(rows, kRows); }

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    float* sums = scratch_floats(team, kRows * kLanes);
    const std::int64_t first = team.league_rank() * kRows;
    const bool is_nc = at.layout == Layout::nc;
    for (int item = team.team_rank(); item < kRows * kLanes; item += Threads) {
      // Neighbouring threads: the lanes of a row in nc, the rows of a unit in nchw16n.
      const int row = is_nc ? item / kLanes : item % kLanes;
      const int lane = is_nc ? item % kLanes : item / kLanes;
      if (first + row >= rows) continue;
      set_gradients(first + row, lane);
      sums[row * kLanes + lane] = is_nc       ? sum(first + row, lane, kLanes)
                                  : lane == 0 ? sum(first + row, 0, 1)
                                              : 0;
    }
    team.team_barrier();
    for (int row = team.team_rank(); row < kRows; row += Threads) {
      if (first + row >= rows) continue;
      float* sum = sums + row * kLanes;
      if (is_nc)
        for (int width = kLanes / 2; width > 0; width /= 2)
          for (int l = 0; l < width; ++l) sum[l] += sum[l + width];
      const bool filled = sample_of_row[first + row] >= 0;
      float* value = values + (first + row) * Loss::kColumns;
      value[Loss::kLoss] = filled ? sum[0] / static_cast<float>(units) : 0;
      value[Loss::kCorrect] = 0;
    }
  }

  /// Of the units lane, lane + 16, ... and their padding.
  KOKKOS_INLINE_FUNCTION void set_gradients(std::int64_t row, int lane) const {
    if (!d_prediction) return;
    const float factor =
        sample_of_row[row] >= 0 ? scalars->inverse_count / static_cast<float>(units) : 0;
    for (int u = lane; u < padded_units; u += kLanes) {
      const std::int64_t i = at(row, u);
      const float x = prediction[i];
      d_prediction[i] =
          u < units && factor != 0 ? factor * (probability(x, power_below_one(x)) - target[i]) : 0;
    }
  }

  /// The costs of the units from `first` on, with steps of `step`.
  KOKKOS_INLINE_FUNCTION float sum(std::int64_t row, int first, int step) const {
    float total = 0;
    for (int u = first; u < units; u += step) {
      const std::int64_t i = at(row, u);
      total += binary_cost(prediction[i], target[i], power_below_one(prediction[i]));
    }
    return total;
  }
};

}  // namespace

void binary_cross_entropy(const ExecSpace& exec, const LossContext& step,
                          const Activation& prediction, const LossTarget& target,
                          const Activation& d_prediction, const FloatView& values) {
  expect(prediction.layout != Layout::cn16c, "nc or nchw16n, on a device");
  const int units = prediction.shape.units();
  const bool is_nc = prediction.layout == Layout::nc;
  const BinaryTeam<> kernel{prediction.data.data(),
                            target.values.data.data(),
                            d_prediction.data.data(),
                            values.data(),
                            step.sample_of_row.data(),
                            step.scalars.data(),
                            ActivationIndex(prediction),
                            units,
                            is_nc ? static_cast<int>(round_up_to_lanes(units)) : units,
                            prediction.rows};
  for_each_team(exec, "quern::loss::binary_cross_entropy", kernel.num_teams(), kernel);
}

}  // namespace quern::device
