// SPDX-License-Identifier: Apache-2.0
// The learning rate as a function of the optimizer step.
//
// clang-format off
// With s = steps done before this one, e = floor(s / steps_per_epoch) epochs done, w = warm-up
// steps, T = all steps of the run:
//   warm-up      lr (s + 1) / w                                        while s < w, for every type
//   constant     lr
//   step         lr gamma^floor(e / every_epochs)
//   multi_step   lr gamma^(milestones up to e)
//   exponential  lr gamma^e
//   plateau      max(min_lr, lr gamma^p), p plateaus of the evaluations so far
//   polynomial   min_lr + (lr - min_lr) (1 - (s - w) / (T - w))^power
//   cosine       min_lr + (lr - min_lr) (1 + cos(pi (s - w) / (T - w))) / 2
// clang-format on
// After the warm-up these are PyTorch's StepLR, MultiStepLR, ExponentialLR and, with the plateaus
// that it counts, ReduceLROnPlateau (stepped per epoch), and PolynomialLR and CosineAnnealingLR
// (stepped per step, over T - w); Loshchilov, Hutter: "SGDR", ICLR 2017.
#pragma once

#include <cstdint>

#include "spec/training_spec.hpp"
#include "tensor/step_scalars.hpp"

namespace quern {

/// Everything the learning rate depends on besides the step and the plateaus; plain data that
/// kernels copy.
struct Schedule {
  ScheduleType type = ScheduleType::constant;
  double lr = 0;
  double gamma = 1;
  double power = 1;
  double min_lr = 0;
  std::int64_t warmup_steps = 0;
  std::int64_t steps_between_drops = 1;          ///< step, exponential
  std::int64_t milestones[kMaxMilestones] = {};  ///< multi_step: in steps
  int num_milestones = 0;
  std::int64_t total_steps = 1;
};

/// `total_steps`: optimizer steps of the whole run; cosine and polynomial end there.
Schedule make_schedule(const OptimizerSpec& spec, std::int64_t steps_per_epoch,
                       std::int64_t total_steps);

/// Steps of the warm-up, stated in steps or in epochs.
std::int64_t warmup_steps(const ScheduleSpec& spec, std::int64_t steps_per_epoch);

/// How often the rate has been multiplied by gamma before this step.
KOKKOS_INLINE_FUNCTION std::int64_t drops_before(const Schedule& schedule, std::int64_t step) {
  if (schedule.type != ScheduleType::multi_step) return step / schedule.steps_between_drops;
  int drops = 0;
  while (drops < schedule.num_milestones && schedule.milestones[drops] <= step) ++drops;
  return drops;
}

KOKKOS_INLINE_FUNCTION double plateau_rate(const Schedule& schedule, std::int64_t plateaus) {
  return Kokkos::fmax(schedule.min_lr,
                      schedule.lr * Kokkos::pow(schedule.gamma, static_cast<double>(plateaus)));
}

/// `plateaus`: how often one has lowered the rate before this step.
KOKKOS_INLINE_FUNCTION double learning_rate(const Schedule& schedule, std::int64_t step,
                                            std::int64_t plateaus = 0) {
  const double s = static_cast<double>(step);
  if (step < schedule.warmup_steps)
    return schedule.lr * (s + 1) / static_cast<double>(schedule.warmup_steps);
  switch (schedule.type) {
    case ScheduleType::constant:
      break;
    case ScheduleType::step:
    case ScheduleType::multi_step:
    case ScheduleType::exponential:
      return schedule.lr *
             Kokkos::pow(schedule.gamma, static_cast<double>(drops_before(schedule, step)));
    case ScheduleType::plateau:
      return plateau_rate(schedule, plateaus);
    case ScheduleType::polynomial:
    case ScheduleType::cosine: {
      if (step >= schedule.total_steps) return schedule.min_lr;
      const double length = static_cast<double>(schedule.total_steps - schedule.warmup_steps);
      const double done = static_cast<double>(step - schedule.warmup_steps);
      if (schedule.type == ScheduleType::polynomial)
        return schedule.min_lr +
               (schedule.lr - schedule.min_lr) * Kokkos::pow(1 - done / length, schedule.power);
      const double angle = Kokkos::numbers::pi * done / length;
      return schedule.min_lr + (schedule.lr - schedule.min_lr) * (1 + Kokkos::cos(angle)) / 2;
    }
  }
  return schedule.lr;
}

/// Overwrites scalars().learning_rate with the rate of step scalars().step after
/// scalars().plateaus.
void set_learning_rate(const ExecSpace& exec, const StepScalarsView& scalars,
                       const Schedule& schedule);

}  // namespace quern
