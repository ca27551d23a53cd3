// SPDX-License-Identifier: Apache-2.0
#include "loss/binary_cross_entropy_kernels.hpp"

#include "linalg/host/simd.hpp"
#include "tensor/chunks.hpp"
#include "tensor/parallel_for.hpp"

namespace quern::host {

namespace {

struct BinaryArrays {
  const float* prediction;
  const float* target;
  float* d_prediction;  ///< or null
  float* values;        ///< [rows, Loss::kColumns]
  const std::int64_t* sample_of_row;
  const StepScalars* scalars;
  ActivationIndex at;
  int units;
  float more;

  /// Of a derivative; 0 in an empty row.
  float factor(std::int64_t row) const {
    return sample_of_row[row] < 0 ? 0 : scalars->inverse_count / static_cast<float>(units);
  }

  /// Adds sixteen numbers' costs to `sum` and the right answers to `right`, where `counts` is 1,
  /// and sets their gradients: 0 where it or the factor is 0.
  void add(std::int64_t i, const float* counts, const float* factor_of, float* sum,
           float* right) const {
    float x[kLanes];
    float d[kLanes];
    QUERN_VECTORIZE
    for (int l = 0; l < kLanes; ++l) {
      x[l] = prediction[i + l];
      const float t = target[i + l];
      const float power = power_below_one(x[l]);
      sum[l] += counts[l] > 0 ? binary_cost(x[l], t, power, more) : 0.0f;
      right[l] += is_right(x[l], t) ? counts[l] : 0.0f;
      d[l] = binary_slope(x[l], t, power, more);
    }
    if (!d_prediction) return;
    QUERN_VECTORIZE
    for (int l = 0; l < kLanes; ++l) {
      const float scale = counts[l] * factor_of[l];
      d_prediction[i + l] = scale == 0 ? 0.0f : scale * d[l];
    }
  }

  void set_value(std::int64_t row, float sum, float right) const {
    const bool filled = sample_of_row[row] >= 0;
    values[row * Loss::kColumns + Loss::kLoss] = filled ? sum / static_cast<float>(units) : 0;
    values[row * Loss::kColumns + Loss::kCorrect] = filled ? right : 0;
  }
};

/// A row in nc or cn16c: lane l sums the units l, l + 16, ..., then the lanes are added as a tree.
struct BinaryRow : BinaryArrays {
  void operator()(std::int64_t row) const {
    float sum[kLanes] = {};
    float right[kLanes] = {};
    float factors[kLanes];
    for (float& each : factors) each = factor(row);
    for (int unit = 0; unit < units; unit += kLanes) {
      float counts[kLanes];
      for (int l = 0; l < kLanes; ++l) counts[l] = unit + l < units ? 1.0f : 0.0f;
      add(at.sixteen(row, unit), counts, factors, sum, right);
    }
    for (int width = kLanes / 2; width > 0; width /= 2) {
      for (int l = 0; l < width; ++l) {
        sum[l] += sum[l + width];
        right[l] += right[l + width];
      }
    }
    set_value(row, sum[0], right[0]);
  }
};

/// Sixteen rows in nchw16n: every lane sums the units of its own row in order.
struct BinaryLanes : BinaryArrays {
  void operator()(std::int64_t group) const {
    float sum[kLanes] = {};
    float right[kLanes] = {};
    float factors[kLanes];
    float counts[kLanes];
    for (int l = 0; l < kLanes; ++l) {
      factors[l] = factor(group * kLanes + l);
      counts[l] = 1;
    }
    for (int unit = 0; unit < units; ++unit)
      add((group * units + unit) * kLanes, counts, factors, sum, right);
    for (int l = 0; l < kLanes; ++l) set_value(group * kLanes + l, sum[l], right[l]);
  }
};

}  // namespace

void binary_cross_entropy(const ExecSpace& exec, const LossContext& step, float more,
                          const Activation& prediction, const LossTarget& target,
                          const Activation& d_prediction, const FloatView& values) {
  const BinaryArrays arrays{prediction.data.data(),
                            target.values.data.data(),
                            d_prediction.data.data(),
                            values.data(),
                            step.sample_of_row.data(),
                            step.scalars.data(),
                            ActivationIndex(prediction),
                            prediction.shape.units(),
                            more};
  const std::string label = "quern::loss::binary_cross_entropy";
  if (prediction.layout == Layout::nchw16n)
    quern::parallel_for(label, RangePolicy(exec, 0, prediction.rows / kLanes), BinaryLanes{arrays});
  else
    quern::parallel_for(label, RangePolicy(exec, 0, prediction.rows), BinaryRow{arrays});
}

}  // namespace quern::host
