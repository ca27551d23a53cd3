// SPDX-License-Identifier: Apache-2.0
#include "optim/schedule.hpp"

#include "base/assert.hpp"
#include "tensor/parallel_for.hpp"

namespace quern {

std::int64_t warmup_steps(const ScheduleSpec& spec, std::int64_t steps_per_epoch) {
  return spec.warmup_epochs > 0 ? spec.warmup_epochs * steps_per_epoch : spec.warmup_steps;
}

Schedule make_schedule(const OptimizerSpec& spec, std::int64_t steps_per_epoch,
                       std::int64_t total_steps) {
  expect(steps_per_epoch >= 1, "at least one step per epoch");
  expect(spec.schedule.every_epochs >= 1, "every_epochs of at least 1");
  Schedule schedule;
  schedule.type = spec.schedule.type;
  schedule.lr = spec.lr;
  schedule.gamma = spec.schedule.gamma;
  schedule.min_lr = spec.schedule.min_lr;
  schedule.power = spec.schedule.power;
  schedule.warmup_steps = warmup_steps(spec.schedule, steps_per_epoch);
  const bool is_exponential = schedule.type == ScheduleType::exponential;
  schedule.steps_between_drops =
      (is_exponential ? 1 : spec.schedule.every_epochs) * steps_per_epoch;
  expect(std::ssize(spec.schedule.milestones) <= kMaxMilestones, "at most kMaxMilestones");
  schedule.num_milestones = static_cast<int>(spec.schedule.milestones.size());
  for (int i = 0; i < schedule.num_milestones; ++i)
    schedule.milestones[i] = spec.schedule.milestones[i] * steps_per_epoch;
  schedule.total_steps = total_steps;
  return schedule;
}

void set_learning_rate(const ExecSpace& exec, const StepScalarsView& scalars,
                       const Schedule& schedule) {
  run_single_item(
      exec, "quern::optim::set_learning_rate", KOKKOS_LAMBDA() {
        scalars().learning_rate =
            static_cast<float>(learning_rate(schedule, scalars().step, scalars().plateaus));
      });
}

}  // namespace quern
