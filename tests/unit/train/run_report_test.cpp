// SPDX-License-Identifier: Apache-2.0
// Of one rank; the times and losses of several: tests/e2e.
#include "train/run_report.hpp"

#include <gtest/gtest.h>

#include "comm/serial/communicator.hpp"
#include "support/json_lines.hpp"
#include "support/temp_dir.hpp"

namespace quern::test {

namespace {

struct RunReportTest : testing::Test {
  RunReportTest() {
    recipe.train.epochs = 3;
    recipe.train.log_every_steps = 5;
  }

  TrainingProgress at(std::int64_t step, std::int64_t epoch) {
    return {.step = step,
            .epoch = epoch,
            .cursor = 0,
            .epoch_loss_sum = 6,
            .epoch_correct = 3,
            .epoch_samples = 12};
  }

  TempDir dir;
  RunFolder folder{dir.path()};
  Recipe recipe;
  SerialCommunicator comm;
  ProcessGrid grid{comm};
};

}  // namespace

TEST_F(RunReportTest, HasALineForStepEpochAndEvaluation) {
  recipe.data.target = TargetType::label;
  RunReport report(recipe, grid, 1);
  report.open(folder, {}, 30);
  report.begin_training();
  report.begin_epoch();
  report.add_batch(4);
  EXPECT_FALSE(report.is_line_due(4));
  EXPECT_TRUE(report.is_line_due(5));
  StepReport step;
  step.progress = at(5, 1);
  step.loss = 8;
  step.correct = 1;
  report.step_line(step, 4, 0.25);
  report.epoch(at(10, 2), 2, 0.5, StepTimes{});
  report.evaluation(at(10, 2), {.samples = 8, .loss = 0.75, .correct = 6});
  const auto lines = read_json_lines(folder.metrics_file());
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0]["kind"], "step");
  EXPECT_EQ(lines[0]["epoch"], 2);  // that which the step is of, counted from 1
  EXPECT_EQ(lines[0]["loss"], 2);
  EXPECT_EQ(lines[0]["accuracy"], 0.25);
  EXPECT_EQ(lines[0]["lr"], 0.25);
  EXPECT_GT(lines[0]["samples_per_s"], 0);
  EXPECT_EQ(lines[1]["kind"], "epoch");
  EXPECT_EQ(lines[1]["epoch"], 2);
  EXPECT_EQ(lines[1]["step"], 10);
  EXPECT_EQ(lines[1]["loss"], 0.5);
  EXPECT_EQ(lines[1]["accuracy"], 0.25);
  EXPECT_EQ(lines[1]["lr"], 0.5);
  EXPECT_EQ(lines[1]["samples_per_s"], 2);
  EXPECT_EQ(lines[1]["rank_times_s"].size(), StepTimes::kNames.size() + 1);
  EXPECT_EQ(lines[1]["rank_times_s"]["other"][0], 2);
  EXPECT_EQ(lines[2]["kind"], "eval");
  EXPECT_EQ(lines[2]["loss"], 0.75);
  EXPECT_EQ(lines[2]["accuracy"], 0.75);
}

// Counts of many answers in a batch are rounded, upwards too.
TEST_F(RunReportTest, HasNoAccuracyAboveOne) {
  RunReport report(recipe, grid, 2);
  report.open(folder, {}, 30);
  report.evaluation(at(10, 1), {.samples = 8, .loss = 2, .answers = 16, .correct = 17});
  const auto lines = read_json_lines(folder.metrics_file());
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["accuracy"], 1.0);
}

TEST_F(RunReportTest, HasNoAccuracyOfTargets) {
  recipe.data.target = TargetType::values;
  RunReport report(recipe, grid, 0);
  report.open(folder, {}, 30);
  report.epoch(at(10, 1), 2, 0.5, std::nullopt);
  report.evaluation(at(10, 1), {.samples = 8, .loss = 2, .has_targets = true, .squared_error = 4});
  const auto lines = read_json_lines(folder.metrics_file());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_FALSE(lines[0].contains("accuracy"));
  EXPECT_FALSE(lines[0].contains("rank_times_s"));
  EXPECT_FALSE(lines[1].contains("accuracy"));
  EXPECT_EQ(lines[1]["rmse"], 2);
}

// A speed is that of what was trained since.
TEST_F(RunReportTest, CountsSamplesFromTheStartOfAnEpoch) {
  RunReport report(recipe, grid, 1);
  report.open(folder, {}, 30);
  report.add_batch(1000);
  report.end_epoch();
  report.epoch(at(10, 1), 2, 0.5, std::nullopt);
  report.add_batch(1);
  report.epoch(at(20, 2), 2, 0.5, std::nullopt);
  const auto lines = read_json_lines(folder.metrics_file());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_FALSE(lines[0].contains("samples_per_s"));
  EXPECT_EQ(lines[1]["samples_per_s"], 0.5);
}

TEST_F(RunReportTest, TellsHowARunEnds) {
  RunReport report(recipe, grid, 1, "0a1b");
  report.open(folder, {}, 30);
  report.started({}, 2, {});
  report.stopped(at(3, 0), "SIGTERM", "stopped");
  report.failed(at(4, 0), "the loss is nan");
  report.finished(at(30, 3), "ab");
  const auto lines = read_json_lines(folder.events_file());
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0]["total_steps"], 30);
  EXPECT_EQ(lines[0]["threads"], 2);
  EXPECT_EQ(lines[0]["monitor"], "loss");
  EXPECT_EQ(lines[0]["test_data"], "0a1b");
  EXPECT_EQ(lines[1]["reason"], "SIGTERM");
  EXPECT_EQ(lines[2]["step"], 4);
  EXPECT_EQ(lines[3]["model"], "ab");
}

// As on all ranks but 0.
TEST_F(RunReportTest, SaysNothingBeforeItIsOpen) {
  RunReport report(recipe, grid, 1);
  EXPECT_FALSE(report.is_line_due(5));
  report.step({}, 4);
  report.epoch(at(10, 1), 2, 0.5, StepTimes{});
  report.evaluation(at(10, 1), {});
  report.line("nothing");
  report.stopped(at(3, 0), "SIGTERM", "stopped");
  report.failed(at(4, 0), "failed");
  report.finish_lines();
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

}  // namespace quern::test
