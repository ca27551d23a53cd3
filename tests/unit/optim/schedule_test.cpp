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

// PyTorch's own rates for a whole run of 2 steps per epoch, from an o with lr=0.2:
// s = MultiStepLR(o, [1, 3, 4], 0.5), stepped after every epoch
TEST(Schedule, MultiStepAgreesWithPyTorch) {
  OptimizerSpec spec = spec_of(ScheduleType::multi_step);
  spec.schedule.gamma = 0.5;
  spec.schedule.milestones = {1, 3, 4};
  expect_rates(make_schedule(spec, 2, 12),
               {0.2, 0.2, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.025, 0.025, 0.025, 0.025});
}

// s = ExponentialLR(o, 0.7), stepped after every epoch
TEST(Schedule, ExponentialAgreesWithPyTorch) {
  OptimizerSpec spec = spec_of(ScheduleType::exponential);
  spec.schedule.gamma = 0.7;
  spec.schedule.every_epochs = 3;  // of another type
  expect_rates(make_schedule(spec, 2, 8), {0.2, 0.2, 0.14, 0.14, 0.098, 0.098, 0.0686, 0.0686});
}

// s = PolynomialLR(o, 8, 2.0), and PolynomialLR(o, 8), stepped after every step
TEST(Schedule, PolynomialAgreesWithPyTorchAndStaysAtTheEnd) {
  OptimizerSpec spec = spec_of(ScheduleType::polynomial);
  spec.schedule.power = 2;
  expect_rates(make_schedule(spec, 2, 8),
               {0.2, 0.153125, 0.1125, 0.078125, 0.05, 0.028125, 0.0125, 0.003125, 0, 0});
  spec.schedule.power = 1;
  expect_rates(make_schedule(spec, 2, 8), {0.2, 0.175, 0.15, 0.125, 0.1, 0.075, 0.05, 0.025, 0});
  spec.schedule.min_lr = 0.04;
  expect_rates(make_schedule(spec, 2, 8), {0.2, 0.18, 0.16, 0.14, 0.12, 0.1, 0.08, 0.06, 0.04});
}

// s = SequentialLR(o, [LinearLR(o, 1/4, total_iters=3), PolynomialLR(o, 6, 0.5)], [4])
TEST(Schedule, PolynomialStartsAfterAWarmupInEpochs) {
  OptimizerSpec spec = spec_of(ScheduleType::polynomial);
  spec.schedule.power = 0.5;
  spec.schedule.warmup_epochs = 2;
  const std::vector<double> expected = {0.05,
                                        0.1,
                                        0.15,
                                        0.2,
                                        0.2,
                                        0.18257418583505539,
                                        0.16329931618554522,
                                        0.1414213562373095,
                                        0.11547005383792515,
                                        0.0816496580927726};
  expect_rates(make_schedule(spec, 2, 10), expected);
  spec.schedule.warmup_epochs = 0;
  spec.schedule.warmup_steps = 4;
  expect_rates(make_schedule(spec, 2, 10), expected);
}

TEST(Schedule, MilestonesCountFromTheStartOfTheWarmup) {
  OptimizerSpec spec = spec_of(ScheduleType::multi_step);
  spec.schedule.milestones = {1, 2};
  spec.schedule.warmup_steps = 3;
  expect_rates(make_schedule(spec, 2, 8), {0.2 / 3, 0.4 / 3, 0.2, 0.02, 0.002, 0.002});
}

// ReduceLROnPlateau(o, factor=0.5, min_lr=0.03, eps=0) lowers it so.
TEST(Schedule, EachPlateauMultipliesTheRateDownToTheLowest) {
  OptimizerSpec spec = spec_of(ScheduleType::plateau);
  spec.schedule.gamma = 0.5;
  spec.schedule.min_lr = 0.03;
  spec.schedule.warmup_steps = 2;
  const Schedule schedule = make_schedule(spec, 2, 8);
  EXPECT_NEAR(learning_rate(schedule, 0, 2), 0.1, 1e-12) << "a warm-up rises to lr nevertheless";
  const double expected[] = {0.2, 0.1, 0.05, 0.03, 0.03};
  for (std::int64_t plateaus = 0; plateaus < 5; ++plateaus)
    EXPECT_NEAR(learning_rate(schedule, 2, plateaus), expected[plateaus], 1e-12) << plateaus;
}

TEST(Schedule, TheKernelReadsTheStepAndWritesTheRate) {
  const StepScalarsView scalars("test::scalars");
  StepScalars values;
  values.step = 3;
  values.plateaus = 2;
  values.seed = 5;
  Kokkos::deep_copy(scalars, values);
  OptimizerSpec spec = spec_of(ScheduleType::step);
  const ExecSpace exec;
  set_learning_rate(exec, scalars, make_schedule(spec, 2, 9));
  exec.fence("test: read scalars");
  Kokkos::deep_copy(values, scalars);
  EXPECT_FLOAT_EQ(values.learning_rate, 0.02f);
  set_learning_rate(exec, scalars, make_schedule(spec_of(ScheduleType::plateau), 2, 9));
  exec.fence("test: read scalars");
  Kokkos::deep_copy(values, scalars);
  EXPECT_FLOAT_EQ(values.learning_rate, 0.002f);
  EXPECT_EQ(values.step, 3);
  EXPECT_EQ(values.seed, 5u);
}

}  // namespace
}  // namespace quern
