// SPDX-License-Identifier: Apache-2.0
// The loss of a regression on a device: loss/device/row_sums.hpp.
#include <type_traits>

#include "base/assert.hpp"
#include "loss/device/row_sums.hpp"
#include "loss/error_function.hpp"
#include "loss/regression_kernels.hpp"

namespace quern::device {

namespace {

template <class Error>
struct RegressionSums : LossRows {
  Error error;
  const float* prediction;
  const float* target;
  float* d_prediction;  ///< or null
  bool after_relu;  ///< the gradient is that in front of the ReLU that the prediction comes out of

  /// Sum of the errors' costs of one lane of a row; sets their gradients. In nchw16n, where a row
  /// has one chain only, lane 0 sums and all lanes share the gradients.
  KOKKOS_INLINE_FUNCTION LaneSums sum_lane(std::int64_t row, int lane) const {
    const std::int64_t row_stride = row_floats(units);
    const float scale = factor(row, Error::kFactor);
    const bool in_nc = is_nc();
    const std::int64_t end = in_nc ? round_up_to_lanes(units) : units;
    float sum = 0;
    for (std::int64_t u = lane; u < end; u += kLanes) {
      const std::int64_t at =
          in_nc ? row * row_stride + u : (row / kLanes * units + u) * kLanes + row % kLanes;
      // The padding of a row counts as 0 - 0.
      const float e = u < units ? prediction[at] - target[at] : 0;
      const float slope = error.slope(e);
      if (in_nc) sum += error.cost(e, slope);
      const bool flat = scale == 0 || (after_relu && u < units && prediction[at] <= 0);
      if (d_prediction) d_prediction[at] = flat ? 0 : scale * slope;
    }
    if (in_nc || lane > 0) return {sum};
    for (std::int64_t u = 0; u < units; ++u) {
      const std::int64_t at = (row / kLanes * units + u) * kLanes + row % kLanes;
      const float e = prediction[at] - target[at];
      sum += error.cost(e, error.slope(e));
    }
    return {sum};
  }
};

}  // namespace

void regression(const ExecSpace& exec, const LossContext& step, const Activation& prediction,
                const LossTarget& target, const Activation& d_prediction, const FloatView& values,
                const RegressionOptions& options) {
  expect(prediction.layout != Layout::cn16c, "nc or nchw16n, on a device");
  with_error_function(options.loss, [&](const auto& error) {
    sum_rows(exec, "quern::loss::regression",
             RegressionSums<std::decay_t<decltype(error)>>{
                 {values.data(), step.sample_of_row.data(), step.scalars.data(),
                  prediction.shape.units(), prediction.rows, prediction.layout},
                 error,
                 prediction.data.data(),
                 target.values.data.data(),
                 d_prediction.data.data(),
                 options.after_relu});
  });
}

}  // namespace quern::device
