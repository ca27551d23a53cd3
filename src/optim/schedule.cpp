// SPDX-License-Identifier: Apache-2.0
#include "optim/schedule.hpp"

#include "base/assert.hpp"
#include "tensor/parallel_for.hpp"

namespace quern {

Schedule make_schedule(const OptimizerSpec& spec, std::int64_t steps_per_epoch,
                       std::int64_t total_steps) {
  expect(steps_per_epoch >= 1, "at least one step per epoch");
  expect(spec.schedule.every_epochs >= 1, "every_epochs of at least 1");
  Schedule schedule;
  schedule.type = spec.schedule.type;
  schedule.lr = spec.lr;
  schedule.gamma = spec.schedule.gamma;
  schedule.min_lr = spec.schedule.min_lr;
  schedule.warmup_steps = spec.schedule.warmup_steps;
  schedule.steps_between_drops = spec.schedule.every_epochs * steps_per_epoch;
  schedule.total_steps = total_steps;
  return schedule;
}

void set_learning_rate(const ExecSpace& exec, const StepScalarsView& scalars,
                       const Schedule& schedule) {
  run_single_item(
      exec, "quern::optim::set_learning_rate", KOKKOS_LAMBDA() {
        scalars().learning_rate = static_cast<float>(learning_rate(schedule, scalars().step));
      });
}

}  // namespace quern
