// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "checkpoint/writer.hpp"
#include "checkpoint_fixture.hpp"

namespace quern {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ClassNames, AreReadAsTheyWereWritten) {
  const test::TempDir folder;
  test::SampleRun run;
  run.state().class_names = {"grüße", "a, b", "\"", "dog"};
  const std::filesystem::path file = write_checkpoint(folder.path(), run.state());
  EXPECT_THAT(read_checkpoint(file).state().class_names, ElementsAre("grüße", "a, b", "\"", "dog"));
  EXPECT_TRUE(find_damage(file).empty());
  test::expect_same_state(read_checkpoint(file).state(), run.state());
}

// As earlier programs wrote them.
TEST(ClassNames, AreReadAsUtf8) {
  const test::TempDir folder;
  test::SampleRun run;
  run.state().class_names = {"caf\xe9", "dog"};
  const std::filesystem::path file = write_checkpoint(folder.path(), run.state());
  EXPECT_THAT(read_checkpoint(file).state().class_names, ElementsAre("caf\\xe9", "dog"));
}

TEST(ClassNames, AreOptional) {
  const test::TempDir folder;
  test::SampleRun run;
  EXPECT_THAT(read_checkpoint(write_checkpoint(folder.path(), run.state())).state().class_names,
              IsEmpty());
}

TEST(InputOfTheData, IsReadAsItWasWritten) {
  const test::TempDir folder;
  test::SampleRun run;
  EXPECT_EQ(read_checkpoint(write_checkpoint(folder.path(), run.state())).state().input, "");
  run.state().input = "values";
  const std::filesystem::path file = write_checkpoint(folder.path(), run.state());
  EXPECT_EQ(read_checkpoint(file).state().input, "values");
  EXPECT_TRUE(find_damage(file).empty());
}

TEST(BestEvaluationOfARun, IsReadAsItWasWritten) {
  const test::TempDir folder;
  test::SampleRun run;  // of step 123, with two epochs done
  EXPECT_EQ(read_checkpoint(write_checkpoint(folder.path(), run.state())).state().best,
            BestEvaluation{});
  for (const Monitor monitor : {Monitor::loss, Monitor::accuracy}) {
    run.state().best = {monitor, 2, 120, 0.1};
    const std::filesystem::path file = write_checkpoint(folder.path(), run.state());
    EXPECT_EQ(read_checkpoint(file).state().best, run.state().best);
    EXPECT_TRUE(find_damage(file).empty());
  }
}

TEST(BestEvaluationOfARun, MayNotBeThereYet) {
  const test::TempDir folder;
  test::SampleRun run;  // of step 123, with two epochs done
  run.state().best = {.monitor = Monitor::accuracy, .since = 2};
  run.state().best_data = std::string(64, 'a');
  const std::filesystem::path file = write_checkpoint(folder.path(), run.state());
  EXPECT_EQ(read_checkpoint(file).state().best, run.state().best);
  EXPECT_EQ(read_checkpoint(file).state().best_data, run.state().best_data);
  EXPECT_TRUE(find_damage(file).empty());
  for (const std::int64_t since : {-1, 3}) {
    run.state().best.since = since;
    write_checkpoint(folder.path(), run.state());
    test::expect_error([&] { read_checkpoint(file); }, ExitCode::do_not_requeue,
                       {"best_since is", "expected 0 to the 2 epochs that are done"});
  }
}

TEST(BestEvaluationOfARun, IsOfItsPast) {
  const test::TempDir folder;
  test::SampleRun run;
  for (const BestEvaluation& best :
       {BestEvaluation{Monitor::loss, 3, 120, 0.1}, BestEvaluation{Monitor::loss, 2, 124, 0.1},
        BestEvaluation{Monitor::loss, 2, -1, 0.1},
        BestEvaluation{Monitor::loss, 2, 120, std::nan("")}}) {
    run.state().best = best;
    const std::filesystem::path file = write_checkpoint(folder.path(), run.state());
    test::expect_error([&] { read_checkpoint(file); }, ExitCode::do_not_requeue,
                       {"the best evaluation is", "expected a finite number"});
  }
}

TEST(PlateausOfARun, AreReadAsTheyWereWritten) {
  const test::TempDir folder;
  test::SampleRun run;  // of step 123, with two epochs done
  TrainingProgress& progress = run.state().progress;
  progress.plateaus = 1;
  progress.plateau_epoch = 2;
  const std::filesystem::path file = write_checkpoint(folder.path(), run.state());
  EXPECT_EQ(read_checkpoint(file).state().progress, progress);
  EXPECT_TRUE(find_damage(file).empty());
  for (const auto& [plateaus, epoch] : {std::pair{-1, 2}, {3, 2}, {1, 3}, {1, 0}}) {
    progress.plateaus = plateaus;
    progress.plateau_epoch = epoch;
    write_checkpoint(folder.path(), run.state());
    test::expect_error([&] { read_checkpoint(file); }, ExitCode::do_not_requeue,
                       {"plateaus is", "expected at most one for each of the 2 epochs"});
  }
}

TEST(ChangesOfARun, AreReadAsTheyWereWritten) {
  const test::TempDir folder;
  test::SampleRun run;  // of step 123
  EXPECT_THAT(read_checkpoint(write_checkpoint(folder.path(), run.state())).state().changes,
              IsEmpty());
  run.state().changes = {{0, "optimizer.lr", "0.1", "0.01"},
                         {123, "optimizer.schedule.milestones", "(not stated)", "[2, 30]"}};
  const std::filesystem::path file = write_checkpoint(folder.path(), run.state());
  EXPECT_EQ(read_checkpoint(file).state().changes, run.state().changes);
  EXPECT_TRUE(find_damage(file).empty());
}

TEST(ChangesOfARun, AreOfItsPast) {
  const test::TempDir folder;
  test::SampleRun run;
  for (const RecipeChange& change :
       {RecipeChange{124, "optimizer.lr", "0.1", "0.01"}, RecipeChange{-1, "seed", "1", "2"},
        RecipeChange{3, "a\tb", "1", "2"}}) {
    run.state().changes = {change};
    const std::filesystem::path file = write_checkpoint(folder.path(), run.state());
    test::expect_error([&] { read_checkpoint(file); }, ExitCode::do_not_requeue,
                       {"the change '" + std::to_string(change.step) + "\\x09",
                        "expected a step of the 123 that are done"});
  }
}

}  // namespace
}  // namespace quern
