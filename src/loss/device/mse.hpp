// SPDX-License-Identifier: Apache-2.0
// Mean squared error on a device: a team has 16 slots, a thread one lane of sums.
//
// The order of additions is that of a CPU: in rows, lane l of a slot sums the units l, l + 16, ...,
// then the lanes are added as a tree; in lanes, a slot sums all its units in order.
#pragma once

#include "loss/loss.hpp"
#include "tensor/team.hpp"

namespace quern::device {

template <int Threads = kTeamThreads<kLanes * kLanes>>
struct MseTeam {
  static constexpr int kThreads = Threads;
  static constexpr int kSlots = kLanes;
  static constexpr std::size_t kScratchBytes = scratch_bytes(kSlots * kLanes, 1);

  const float* prediction;
  const float* target;
  float* d_prediction;  ///< or null
  float* values;        ///< [slots, Loss::kColumns]
  const std::int64_t* sample_of_slot;
  const StepScalars* scalars;
  int units;
  int slots;
  Layout layout;
  bool behind_relu;  ///< the gradient is that in front of the ReLU that the prediction comes out of

  int num_teams() const { return (slots + kSlots - 1) / kSlots; }

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    float* sums = scratch_floats(team, kSlots * kLanes);
    const int first = team.league_rank() * kSlots;
    const bool in_rows = layout == Layout::rows;
    for (int item = team.team_rank(); item < kSlots * kLanes; item += Threads) {
      // Neighbouring threads: the lanes of a slot in rows, the slots of a unit in lanes.
      const int slot = in_rows ? item / kLanes : item % kLanes;
      const int lane = in_rows ? item % kLanes : item / kLanes;
      if (first + slot < slots) sums[slot * kLanes + lane] = sum_lane(first + slot, lane);
    }
    team.team_barrier();
    for (int slot = team.team_rank(); slot < kSlots; slot += Threads) {
      if (first + slot >= slots) continue;
      float* sum = sums + slot * kLanes;
      if (in_rows)
        for (int width = kLanes / 2; width > 0; width /= 2)
          for (int l = 0; l < width; ++l) sum[l] += sum[l + width];
      const bool filled = sample_of_slot[first + slot] >= 0;
      float* value = values + std::int64_t{first + slot} * Loss::kColumns;
      value[Loss::kLoss] = filled ? sum[0] / static_cast<float>(units) : 0;
      value[Loss::kCorrect] = 0;
    }
  }

  /// Sum of squared errors of one lane of a slot; sets their gradients. In lanes, where a slot has
  /// one chain only, lane 0 sums and all lanes share the gradients.
  KOKKOS_INLINE_FUNCTION float sum_lane(std::int64_t slot, int lane) const {
    const std::int64_t row = row_floats(units);
    const float factor =
        sample_of_slot[slot] >= 0 ? 2 * scalars->inverse_count / static_cast<float>(units) : 0;
    const bool in_rows = layout == Layout::rows;
    const std::int64_t end = in_rows ? round_up_to_lanes(units) : units;
    float sum = 0;
    for (std::int64_t u = lane; u < end; u += kLanes) {
      const std::int64_t at =
          in_rows ? slot * row + u : (slot / kLanes * units + u) * kLanes + slot % kLanes;
      // The padding of a row counts as 0 - 0.
      const float error = u < units ? prediction[at] - target[at] : 0;
      if (in_rows) sum += error * error;
      const bool flat = factor == 0 || (behind_relu && u < units && prediction[at] <= 0);
      if (d_prediction) d_prediction[at] = flat ? 0 : factor * error;
    }
    if (in_rows || lane > 0) return sum;
    for (std::int64_t u = 0; u < units; ++u) {
      const std::int64_t at = (slot / kLanes * units + u) * kLanes + slot % kLanes;
      const float error = prediction[at] - target[at];
      sum += error * error;
    }
    return sum;
  }
};

}  // namespace quern::device
