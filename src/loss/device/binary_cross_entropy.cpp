// SPDX-License-Identifier: Apache-2.0
#include "base/assert.hpp"
#include "loss/binary_cross_entropy_kernels.hpp"
#include "loss/device/row_sums.hpp"

namespace quern::device {

namespace {

struct BinarySums : LossRows {
  const float* prediction;
  const float* target;
  float* d_prediction;  ///< or null
  ActivationIndex at;
  int padded_units;
  float more;

  KOKKOS_INLINE_FUNCTION LaneSums sum_lane(std::int64_t row, int lane) const {
    if (d_prediction) set_gradients(row, lane);
    if (is_nc()) return sum(row, lane, kLanes);
    return lane == 0 ? sum(row, 0, 1) : LaneSums{};
  }

  /// Of the units lane, lane + 16, ... and their padding.
  KOKKOS_INLINE_FUNCTION void set_gradients(std::int64_t row, int lane) const {
    const float scale = factor(row);
    for (int u = lane; u < padded_units; u += kLanes) {
      const std::int64_t i = at(row, u);
      const float x = prediction[i];
      d_prediction[i] = u < units && scale != 0
                            ? scale * binary_slope(x, target[i], power_below_one(x), more)
                            : 0;
    }
  }

  /// Over the units from `first` on, with steps of `step`.
  KOKKOS_INLINE_FUNCTION LaneSums sum(std::int64_t row, int first, int step) const {
    LaneSums total;
    for (int u = first; u < units; u += step) {
      const std::int64_t i = at(row, u);
      total.cost += binary_cost(prediction[i], target[i], power_below_one(prediction[i]), more);
      total.correct += is_right(prediction[i], target[i]) ? 1.0f : 0.0f;
    }
    return total;
  }
};

}  // namespace

void binary_cross_entropy(const ExecSpace& exec, const LossContext& step, float more,
                          const Activation& prediction, const LossTarget& target,
                          const Activation& d_prediction, const FloatView& values) {
  expect(prediction.layout != Layout::cn16c, "nc or nchw16n, on a device");
  const int units = prediction.shape.units();
  const bool is_nc = prediction.layout == Layout::nc;
  sum_rows(exec, "quern::loss::binary_cross_entropy",
           BinarySums{{values.data(), step.sample_of_row.data(), step.scalars.data(), units,
                       prediction.rows, prediction.layout},
                      prediction.data.data(),
                      target.values.data.data(),
                      d_prediction.data.data(),
                      ActivationIndex(prediction),
                      is_nc ? static_cast<int>(round_up_to_lanes(units)) : units,
                      more});
}

}  // namespace quern::device
