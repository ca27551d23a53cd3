// SPDX-License-Identifier: Apache-2.0
// The learning rate as a function of the optimizer step.
//
// clang-format off
// With s = steps done before this one, w = warm-up steps, T = all steps of the run:
//   warm-up   lr (s + 1) / w                                        while s < w, for every type
//   constant  lr
//   step      lr gamma^floor(epoch / every_epochs)                  epoch = floor(s / steps_per_epoch)
//   cosine    min_lr + (lr - min_lr) (1 + cos(pi (s - w) / (T - w))) / 2
// clang-format on
// After the warm-up these are PyTorch's StepLR (stepped per epoch) and CosineAnnealingLR (stepped
// per step, T_max = T - w); Loshchilov, Hutter: "SGDR", ICLR 2017.
#pragma once

#include <cstdint>

#include "spec/training_spec.hpp"
#include "tensor/step_scalars.hpp"

namespace quern {

/// Everything the learning rate depends on besides the step; plain data that kernels copy.
struct Schedule {
  ScheduleType type = ScheduleType::constant;
  double lr = 0;
  double gamma = 1;
  double min_lr = 0;
  std::int64_t warmup_steps = 0;
  std::int64_t steps_between_drops = 1;  ///< step: every_epochs in steps
  std::int64_t total_steps = 1;
};

/// `total_steps`: optimizer steps of the whole run; cosine ends there.
Schedule make_schedule(const OptimizerSpec& spec, std::int64_t steps_per_epoch,
                       std::int64_t total_steps);

KOKKOS_INLINE_FUNCTION double learning_rate(const Schedule& schedule, std::int64_t step) {
  const double s = static_cast<double>(step);
  if (step < schedule.warmup_steps)
    return schedule.lr * (s + 1) / static_cast<double>(schedule.warmup_steps);
  if (schedule.type == ScheduleType::step) {
    const std::int64_t drops = step / schedule.steps_between_drops;
    return schedule.lr * Kokkos::pow(schedule.gamma, static_cast<double>(drops));
  }
  if (schedule.type == ScheduleType::cosine) {
    if (step >= schedule.total_steps) return schedule.min_lr;
    const std::int64_t length = schedule.total_steps - schedule.warmup_steps;
    const double done = static_cast<double>(step - schedule.warmup_steps);
    const double angle = Kokkos::numbers::pi * done / static_cast<double>(length);
    return schedule.min_lr + (schedule.lr - schedule.min_lr) * (1 + Kokkos::cos(angle)) / 2;
  }
  return schedule.lr;
}

/// Overwrites scalars().learning_rate with the rate of step scalars().step.
void set_learning_rate(const ExecSpace& exec, const StepScalarsView& scalars,
                       const Schedule& schedule);

}  // namespace quern
