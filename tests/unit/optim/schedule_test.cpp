// SPDX-License-Identifier: Apache-2.0
#include "optim/schedule.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace quern {
namespace {

OptimizerSpec spec_of(ScheduleType type) {
  OptimizerSpec spec;
  spec.lr = 0.2;
  spec.schedule.type = type;
  return spec;
}

void expect_rates(const Schedule& schedule, const std::vector<double>& expected) {
  for (std::size_t s = 0; s < expected.size(); ++s)
    EXPECT_NEAR(learning_rate(schedule, static_cast<std::int64_t>(s)), expected[s], 1e-12) << s;
}

TEST(Schedule, ConstantStaysAndWarmupRisesToTheRate) {
  OptimizerSpec spec = spec_of(ScheduleType::constant);
  expect_rates(make_schedule(spec, 3, 9), {0.2, 0.2, 0.2});
  spec.schedule.warmup_steps = 4;
  expect_rates(make_schedule(spec, 3, 9), {0.05, 0.1, 0.15, 0.2, 0.2, 0.2});
}

// s = torch.optim.lr_scheduler.StepLR(o, 2, 0.5), o with lr=0.2, stepped after every step
TEST(Schedule, StepAgreesWithPyTorch) {
  OptimizerSpec spec = spec_of(ScheduleType::step);
  spec.schedule.gamma = 0.5;
  const std::vector<double> expected = {0.2, 0.2, 0.1, 0.1, 0.05, 0.05, 0.025, 0.025, 0.0125};
  expect_rates(make_schedule(spec, 2, 9), expected);
  spec.schedule.every_epochs = 2;
  expect_rates(make_schedule(spec, 1, 9), expected);
}

// s = torch.optim.lr_scheduler.CosineAnnealingLR(o, 8, 0.01)
TEST(Schedule, CosineAgreesWithPyTorchAndStaysAtTheEnd) {
  OptimizerSpec spec = spec_of(ScheduleType::cosine);
  spec.schedule.min_lr = 0.01;
  expect_rates(make_schedule(spec, 4, 8),
               {0.2, 0.19276855558857225, 0.172175144212722, 0.14135492607468356, 0.105,
                0.06864507392531648, 0.03782485578727799, 0.01723144441142776, 0.01, 0.01});
}

TEST(Schedule, CosineStartsAfterTheWarmup) {
  OptimizerSpec spec = spec_of(ScheduleType::cosine);
  spec.schedule.warmup_steps = 2;
  expect_rates(make_schedule(spec, 4, 6), {0.1, 0.2, 0.2, 0.17071067811865475, 0.1});
  spec.schedule.warmup_steps = 6;
  expect_rates(make_schedule(spec, 4, 6), {0.2 / 6, 0.4 / 6, 0.1});
}

TEST(Schedule, TheKernelReadsTheStepAndWritesTheRate) {
  const StepScalarsView scalars("test::scalars");
  StepScalars values;
  values.step = 3;
  values.seed = 5;
  Kokkos::deep_copy(scalars, values);
  OptimizerSpec spec = spec_of(ScheduleType::step);
  const ExecSpace exec;
  set_learning_rate(exec, scalars, make_schedule(spec, 2, 9));
  exec.fence("test: read scalars");
  Kokkos::deep_copy(values, scalars);
  EXPECT_FLOAT_EQ(values.learning_rate, 0.02f);
  EXPECT_EQ(values.step, 3);
  EXPECT_EQ(values.seed, 5u);
}

}  // namespace
}  // namespace quern
