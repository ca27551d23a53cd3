// SPDX-License-Identifier: Apache-2.0
#include "strategy/step_counters.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "loss/loss.hpp"
#include "strategy/step_kernels.hpp"
#include "support/views.hpp"

namespace quern::test {
namespace {

/// A step of four samples, two of them answered correctly.
void run_step(StepCounters& counters, float loss, float votes = 0) {
  const ExecSpace exec;
  std::vector<float> sums(Loss::kColumns);
  sums[Loss::kLoss] = loss;
  sums[Loss::kCorrect] = 2;
  const FloatView view = to_view(sums);
  counters.begin_batch(exec, 4, {});
  check_loss_finite(exec, counters.scalars(), view);
  counters.end_batch(exec, 4, {{}, view, to_view(std::vector<float>{votes})});
  counters.move_on(4);
  exec.fence();
}

TEST(StepCounters, CountOnTheHostWhatIsEnqueued) {
  StepCounters counters(3);
  counters.move_on(4);
  counters.move_on(2);
  EXPECT_EQ(counters.steps(), 2);
  EXPECT_EQ(counters.cursor(), 6);
  EXPECT_EQ(counters.report().progress, TrainingProgress{}) << "no kernel has run";
  EXPECT_EQ(counters.batches_ended(), 0);
}

TEST(StepCounters, ReportWhatTheKernelsHaveCounted) {
  StepCounters counters(3);
  run_step(counters, 1.5f);
  run_step(counters, 2, 1);
  run_step(counters, 1);
  const StepReport report = counters.report();
  EXPECT_EQ(report.progress, (TrainingProgress{3, 0, 12, 4.5, 6, 12}));
  EXPECT_EQ(report.loss, 1);
  EXPECT_EQ(report.correct, 2);
  EXPECT_TRUE(report.stop) << "a vote of any step";
  EXPECT_FALSE(report.diverged);
  EXPECT_EQ(counters.cursor(), 12);
  EXPECT_EQ(counters.batches_ended(), 3);
}

TEST(StepCounters, PutTheHostsVoteWhereTheRanksAddIt) {
  StepCounters counters(3);
  const FloatView vote = to_view(std::vector<float>{9});
  counters.vote(true);
  counters.begin_batch(ExecSpace(), 4, vote);
  EXPECT_EQ(to_vector(vote), std::vector<float>{1});
  counters.vote(false);
  counters.begin_batch(ExecSpace(), 4, vote);
  EXPECT_EQ(to_vector(vote), std::vector<float>{0});
}

TEST(StepCounters, StandWhereTheLossWasNotFinite) {
  StepCounters counters(3);
  run_step(counters, 1);
  run_step(counters, std::numeric_limits<float>::infinity());
  run_step(counters, 1);
  EXPECT_TRUE(counters.report().diverged);
  EXPECT_EQ(counters.report().progress.step, 1);
  EXPECT_EQ(counters.cursor_of_kernels(), 4);
  EXPECT_EQ(counters.cursor(), 12) << "the host has not seen it";
}

TEST(StepCounters, GoOnFromAPosition) {
  StepCounters counters(3);
  run_step(counters, std::numeric_limits<float>::infinity(), 1);
  const TrainingProgress progress{7, 2, 8, 3.25, 5, 8, 2, 1};
  counters.set_position(progress);
  EXPECT_EQ(counters.steps(), 7);
  EXPECT_EQ(counters.epoch(), 2);
  EXPECT_EQ(counters.cursor(), 8);
  EXPECT_EQ(counters.cursor_of_kernels(), 8);
  EXPECT_EQ(counters.report().progress, progress);
  EXPECT_FALSE(counters.report().diverged);
  EXPECT_FALSE(counters.report().stop);
  run_step(counters, 1);
  EXPECT_EQ(counters.report().progress, (TrainingProgress{8, 2, 12, 4.25, 7, 12, 2, 1}));
}

}  // namespace
}  // namespace quern::test
