// SPDX-License-Identifier: Apache-2.0
#include "loss/mse.hpp"

#include "base/assert.hpp"
#include "loss/device/mse.hpp"
#include "tensor/chunks.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

namespace {

struct MseArrays {
  const float* prediction;
  const float* target;
  float* d_prediction;  ///< or null
  float* values;        ///< [slots, Loss::kColumns]
  View<const std::int64_t> sample_of_slot;
  StepScalarsView scalars;
  int units;

  KOKKOS_INLINE_FUNCTION float slope_factor() const {
    return 2 * scalars().inverse_count / static_cast<float>(units);
  }
  KOKKOS_INLINE_FUNCTION void set_value(std::int64_t slot, float sum) const {
    const bool filled = sample_of_slot(slot) >= 0;
    values[slot * Loss::kColumns + Loss::kLoss] = filled ? sum / static_cast<float>(units) : 0;
    values[slot * Loss::kColumns + Loss::kCorrect] = 0;
  }
};

/// One slot in rows or panels: lane l sums the units l, l + 16, ..., then the lanes are added as a
/// tree.
struct MseFlat : MseArrays {
  ActivationIndex at;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t slot) const {
    const float factor = sample_of_slot(slot) >= 0 ? slope_factor() : 0;
    float lane[kLanes] = {};
    const int whole = units / kLanes * kLanes;
    for (int u = 0; u < whole; u += kLanes) {
      const std::int64_t i = at.sixteen(slot, u);
      add(prediction + i, target + i, d_prediction ? d_prediction + i : nullptr, factor, lane);
    }
    if (whole < units) {
      const std::int64_t i = at.sixteen(slot, whole);
      float tail_x[kLanes] = {};
      float tail_t[kLanes] = {};
      for (int l = 0; l < units - whole; ++l) {
        tail_x[l] = prediction[i + l];
        tail_t[l] = target[i + l];
      }
      add(tail_x, tail_t, d_prediction ? d_prediction + i : nullptr, factor, lane);
    }
    for (int width = kLanes / 2; width > 0; width /= 2)
      for (int l = 0; l < width; ++l) lane[l] += lane[l + width];
    set_value(slot, lane[0]);
  }

  KOKKOS_INLINE_FUNCTION static void add(const float* KOKKOS_RESTRICT x,
                                         const float* KOKKOS_RESTRICT t, float* KOKKOS_RESTRICT dx,
                                         float factor, float* KOKKOS_RESTRICT sum) {
    QUERN_VECTORIZE
    for (int l = 0; l < kLanes; ++l) {
      const float error = x[l] - t[l];
      sum[l] += error * error;
    }
    if (!dx) return;
    QUERN_VECTORIZE
    for (int l = 0; l < kLanes; ++l) dx[l] = factor == 0 ? 0 : factor * (x[l] - t[l]);
  }
};

/// One group of 16 slots in lanes: every lane sums its own units in order.
struct MseLanes : MseArrays {
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t group) const {
    const std::int64_t begin = group * units * kLanes;
    float factor[kLanes];
    float sum[kLanes] = {};
    for (int l = 0; l < kLanes; ++l)
      factor[l] = sample_of_slot(group * kLanes + l) >= 0 ? slope_factor() : 0;
    for (std::int64_t i = begin; i < begin + std::int64_t{units} * kLanes; i += kLanes) {
      QUERN_VECTORIZE
      for (int l = 0; l < kLanes; ++l) {
        const float error = prediction[i + l] - target[i + l];
        sum[l] += error * error;
      }
      if (!d_prediction) continue;
      QUERN_VECTORIZE
      for (int l = 0; l < kLanes; ++l)
        d_prediction[i + l] = factor[l] == 0 ? 0 : factor[l] * (prediction[i + l] - target[i + l]);
    }
    for (int l = 0; l < kLanes; ++l) set_value(group * kLanes + l, sum[l]);
  }
};

}  // namespace

void Mse::evaluate_slots(const ExecSpace& exec, const LossContext& step,
                         const Activation& prediction, const LossTarget& target,
                         const Activation& d_prediction, const FloatView& values) const {
  const Activation& wanted = target.values;
  expect(wanted.shape == prediction.shape && wanted.layout == prediction.layout &&
             wanted.slots == prediction.slots,
         "a target shaped like the prediction");
  if (runs_device_kernels()) {
    expect(prediction.layout != Layout::panels, "rows or lanes, on a device");
    const device::MseTeam<> kernel{
        prediction.data.data(),     wanted.data.data(),  d_prediction.data.data(), values.data(),
        step.sample_of_slot.data(), step.scalars.data(), prediction.shape.units(), prediction.slots,
        prediction.layout};
    for_each_team(exec, "quern::loss::mse", kernel.num_teams(), kernel);
  } else if constexpr (kHostExecution) {
    const MseArrays arrays{prediction.data.data(),  wanted.data.data(),  d_prediction.data.data(),
                           values.data(),           step.sample_of_slot, step.scalars,
                           prediction.shape.units()};
    if (prediction.layout != Layout::lanes)
      Kokkos::parallel_for("quern::loss::mse_flat", RangePolicy(exec, 0, prediction.slots),
                           MseFlat{arrays, ActivationIndex(prediction)});
    else
      Kokkos::parallel_for("quern::loss::mse_lanes",
                           RangePolicy(exec, 0, prediction.slots / kLanes), MseLanes{arrays});
  }
}

}  // namespace quern
