// SPDX-License-Identifier: Apache-2.0
// The loss of a regression on a device: a team has 16 rows, a thread one lane of sums.
//
// The order of additions is that of a CPU: in nc, lane l of a row sums the units l, l + 16, ...,
// then the lanes are added as a tree; in nchw16n, a row sums all its units in order.
#include <type_traits>

#include "base/assert.hpp"
#include "base/ceil_div.hpp"
#include "loss/error_function.hpp"
#include "loss/regression_kernels.hpp"
#include "tensor/team.hpp"

namespace quern::device {

namespace {

template <class Error, int Threads = kTeamThreads<kLanes * kLanes>>
struct RegressionTeam {
  static constexpr int kThreads = Threads;
  static constexpr int kRows = kLanes;
  static constexpr std::size_t kScratchBytes = scratch_bytes(kRows * kLanes, 1);

  Error error;
  const float* prediction;
  const float* target;
  float* d_prediction;  ///< or null
  float* values;        ///< [rows, Loss::kColumns]
  const std::int64_t* sample_of_row;
  const StepScalars* scalars;
  int units;
  int rows;
  Layout layout;
  bool after_relu;  ///< the gradient is that in front of the ReLU that the prediction comes out of

  int num_teams() const { return ceil_div(rows, kRows); }

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    float* sums = scratch_floats(team, kRows * kLanes);
    const int first = team.league_rank() * kRows;
    const bool is_nc = layout == Layout::nc;
    for (int item = team.team_rank(); item < kRows * kLanes; item += Threads) {
      // Neighbouring threads: the lanes of a row in nc, the rows of a unit in nchw16n.
      const int row = is_nc ? item / kLanes : item % kLanes;
      const int lane = is_nc ? item % kLanes : item / kLanes;
      if (first + row < rows) sums[row * kLanes + lane] = sum_lane(first + row, lane);
    }
    team.team_barrier();
    for (int row = team.team_rank(); row < kRows; row += Threads) {
      if (first + row >= rows) continue;
      float* sum = sums + row * kLanes;
      if (is_nc)
        for (int width = kLanes / 2; width > 0; width /= 2)
          for (int l = 0; l < width; ++l) sum[l] += sum[l + width];
      const bool filled = sample_of_row[first + row] >= 0;
      float* value = values + std::int64_t{first + row} * Loss::kColumns;
      value[Loss::kLoss] = filled ? sum[0] / static_cast<float>(units) : 0;
      value[Loss::kCorrect] = 0;
    }
  }

  /// Sum of the errors' costs of one lane of a row; sets their gradients. In nchw16n, where a row
  /// has one chain only, lane 0 sums and all lanes share the gradients.
  KOKKOS_INLINE_FUNCTION float sum_lane(std::int64_t row, int lane) const {
    const std::int64_t row_stride = row_floats(units);
    const float factor = sample_of_row[row] >= 0
                             ? Error::kFactor * scalars->inverse_count / static_cast<float>(units)
                             : 0;
    const bool is_nc = layout == Layout::nc;
    const std::int64_t end = is_nc ? round_up_to_lanes(units) : units;
    float sum = 0;
    for (std::int64_t u = lane; u < end; u += kLanes) {
      const std::int64_t at =
          is_nc ? row * row_stride + u : (row / kLanes * units + u) * kLanes + row % kLanes;
      // The padding of a row counts as 0 - 0.
      const float e = u < units ? prediction[at] - target[at] : 0;
      const float slope = error.slope(e);
      if (is_nc) sum += error.cost(e, slope);
      const bool flat = factor == 0 || (after_relu && u < units && prediction[at] <= 0);
      if (d_prediction) d_prediction[at] = flat ? 0 : factor * slope;
    }
    if (is_nc || lane > 0) return sum;
    for (std::int64_t u = 0; u < units; ++u) {
      const std::int64_t at = (row / kLanes * units + u) * kLanes + row % kLanes;
      const float e = prediction[at] - target[at];
      sum += error.cost(e, error.slope(e));
    }
    return sum;
  }
};

}  // namespace

void regression(const ExecSpace& exec, const LossContext& step, const Activation& prediction,
                const LossTarget& target, const Activation& d_prediction, const FloatView& values,
                const RegressionOptions& options) {
  expect(prediction.layout != Layout::cn16c, "nc or nchw16n, on a device");
  with_error_function(options.loss, [&](const auto& error) {
    const RegressionTeam<std::decay_t<decltype(error)>> kernel{error,
                                                               prediction.data.data(),
                                                               target.values.data.data(),
                                                               d_prediction.data.data(),
                                                               values.data(),
                                                               step.sample_of_row.data(),
                                                               step.scalars.data(),
                                                               prediction.shape.units(),
                                                               prediction.rows,
                                                               prediction.layout,
                                                               options.after_relu};
    for_each_team(exec, "quern::loss::regression", kernel.num_teams(), kernel);
  });
}

}  // namespace quern::device
