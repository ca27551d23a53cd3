// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/best_checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "checkpoint/reader.hpp"
#include "checkpoint/retention.hpp"
#include "checkpoint/writer.hpp"
#include "checkpoint_fixture.hpp"

namespace quern {
namespace {

using testing::ElementsAre;

std::filesystem::path write_at(const std::filesystem::path& folder, std::int64_t step) {
  return write_checkpoint(folder, test::SampleRun(step).state());
}

std::int64_t step_of_best(const std::filesystem::path& folder) {
  return read_checkpoint(folder / kBestCheckpointName).state().progress.step;
}

TEST(BestEvaluation, IsTheOneWithTheLowerLossOrTheHigherAccuracy) {
  BestEvaluation loss{.monitor = Monitor::loss};
  EXPECT_TRUE(loss.is_beaten_by(7));  // there is none yet
  loss.epoch = 1;
  loss.value = 7;
  EXPECT_TRUE(loss.is_beaten_by(std::nextafter(7.0, 0.0)));
  EXPECT_FALSE(loss.is_beaten_by(7));
  EXPECT_FALSE(loss.is_beaten_by(8));
  const BestEvaluation accuracy{.monitor = Monitor::accuracy, .epoch = 1, .value = 0.5};
  EXPECT_TRUE(accuracy.is_beaten_by(0.6));
  EXPECT_FALSE(accuracy.is_beaten_by(0.5));
  EXPECT_FALSE(accuracy.is_beaten_by(0.4));
}

TEST(BestEvaluation, IsAFiniteOne) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double value : {std::nan(""), infinity, -infinity}) {
    for (const std::int64_t epoch : {0, 1}) {
      EXPECT_FALSE((BestEvaluation{.epoch = epoch, .value = 1}).is_beaten_by(value));
      EXPECT_FALSE((BestEvaluation{Monitor::accuracy, epoch, 1, 1}).is_beaten_by(value));
    }
  }
}

TEST(BestCheckpoint, StaysWhenTheCheckpointIsDeleted) {
  const test::TempDir folder;
  EXPECT_FALSE(best_checkpoint_of(folder.path()));
  name_best_checkpoint(write_at(folder.path(), 1));
  keep_newest(write_at(folder.path(), 2), 1);
  EXPECT_THAT(test::names_in(folder.path()), ElementsAre("best.h5", checkpoint_name(2)));
  EXPECT_EQ(best_checkpoint_of(folder.path()), folder.path() / "best.h5");
  EXPECT_EQ(step_of_best(folder.path()), 1);
  EXPECT_TRUE(find_damage(folder.path() / "best.h5").empty());
}

TEST(BestCheckpoint, IsTheOneThatWasNamedLast) {
  const test::TempDir folder;
  name_best_checkpoint(write_at(folder.path(), 1));
  name_best_checkpoint(write_at(folder.path(), 2));
  EXPECT_EQ(step_of_best(folder.path()), 2);
  EXPECT_THAT(test::names_in(folder.path()),
              ElementsAre("best.h5", checkpoint_name(1), checkpoint_name(2)));
}

TEST(BestCheckpoint, MayBeNamedTwice) {
  const test::TempDir folder;
  const std::filesystem::path checkpoint = write_at(folder.path(), 1);
  name_best_checkpoint(checkpoint);
  name_best_checkpoint(checkpoint);
  EXPECT_THAT(test::names_in(folder.path()), ElementsAre("best.h5", checkpoint_name(1)));
}

TEST(BestCheckpoint, IsAsItWasWhenAnotherCannotBeNamed) {
  const test::TempDir folder;
  name_best_checkpoint(write_at(folder.path(), 1));
  EXPECT_THROW(name_best_checkpoint(folder.path() / "not-there.h5"), Error);
  EXPECT_EQ(step_of_best(folder.path()), 1);
  EXPECT_THAT(test::names_in(folder.path()), ElementsAre("best.h5", checkpoint_name(1)));
}

TEST(BestCheckpoint, IsNotTheNewestOne) {
  const test::TempDir folder;
  name_best_checkpoint(write_at(folder.path(), 9));
  std::filesystem::remove(folder.path() / checkpoint_name(9));
  write_at(folder.path(), 5);
  EXPECT_EQ(load_newest(folder.path())->state().progress.step, 5);
}

struct RestoreBestCheckpoint : testing::Test {
  BestEvaluation best_at(std::int64_t step) { return {.epoch = 1, .step = step, .value = 1}; }
  bool restore(const BestEvaluation& best) { return restore_best_checkpoint(folder.path(), best); }
  bool is_there() { return best_checkpoint_of(folder.path()).has_value(); }

  test::TempDir folder;
};

TEST_F(RestoreBestCheckpoint, LeavesTheRightOne) {
  name_best_checkpoint(write_at(folder.path(), 1));
  std::filesystem::remove(folder.path() / checkpoint_name(1));
  EXPECT_TRUE(restore(best_at(1)));
  EXPECT_EQ(step_of_best(folder.path()), 1);
}

TEST_F(RestoreBestCheckpoint, TakesTheNameFromOneOfAnotherPast) {
  name_best_checkpoint(write_at(folder.path(), 3));
  EXPECT_FALSE(restore(best_at(1)));
  EXPECT_FALSE(is_there());
  EXPECT_EQ(read_checkpoint(folder.path() / "best-old.h5").state().progress.step, 3);
  name_best_checkpoint(folder.path() / checkpoint_name(3));
  EXPECT_TRUE(restore({}));  // of a run without any evaluation
  EXPECT_FALSE(is_there());
  EXPECT_TRUE(std::filesystem::exists(folder.path() / checkpoint_name(3)));
}

TEST_F(RestoreBestCheckpoint, NamesTheCheckpointOfThatStep) {
  write_at(folder.path(), 1);
  name_best_checkpoint(write_at(folder.path(), 3));
  EXPECT_TRUE(restore(best_at(1)));
  EXPECT_EQ(step_of_best(folder.path()), 1);
}

// As a process leaves them that is killed between writing the better one and naming it.
TEST_F(RestoreBestCheckpoint, TakesTheNameSilentlyFromAnEarlierBestOfTheSameRun) {
  for (const double second : {0.5, 2.0}) {
    const auto write_best = [&](std::int64_t step, double value) {
      test::SampleRun run(step);
      CheckpointState& state = run.state();
      state.best = {.epoch = 1, .step = step, .value = value};
      return write_checkpoint(folder.path(), state);
    };
    name_best_checkpoint(write_best(1, 1));
    write_best(3, second);
    testing::internal::CaptureStderr();
    EXPECT_TRUE(restore(best_at(3)));
    const bool is_better = second < 1;
    EXPECT_EQ(testing::internal::GetCapturedStderr().empty(), is_better);
    EXPECT_EQ(step_of_best(folder.path()), 3);
    EXPECT_EQ(std::filesystem::exists(folder.path() / "best-old.h5"), !is_better);
  }
}

TEST_F(RestoreBestCheckpoint, ARunThatChangedItsRecipeIsTheSame) {
  for (const bool has_changed : {true, false}) {
    const auto write_best = [&](std::int64_t step, double value, const std::string& recipe) {
      test::SampleRun run(step);
      CheckpointState& state = run.state();
      state.best = {.epoch = 1, .step = step, .value = value};
      state.origin.recipe += recipe;
      if (has_changed && step > 1) state.changes.push_back({2, "optimizer.lr", "0.1", "0.01"});
      return write_checkpoint(folder.path(), state);
    };
    name_best_checkpoint(write_best(1, 1, ""));
    write_best(3, 0.5, "# other");
    EXPECT_TRUE(restore(best_at(3)));
    EXPECT_EQ(step_of_best(folder.path()), 3);
    EXPECT_EQ(std::filesystem::exists(folder.path() / "best-old.h5"), !has_changed);
  }
}

TEST_F(RestoreBestCheckpoint, KeepsTheBestOfAnotherRun) {
  const std::vector<std::function<void(CheckpointState&)>> changes = {
      [](CheckpointState&) {}, [](CheckpointState& state) { state.origin.seed -= 1; },
      [](CheckpointState& state) { state.origin.data_sha256 = std::string(64, 'e'); },
      [](CheckpointState& state) { state.best_data = std::string(64, 'e'); },
      [](CheckpointState& state) { state.best.monitor = Monitor::accuracy; }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const auto write_best = [&](std::int64_t step, double value) {
      test::SampleRun run(step);
      CheckpointState& state = run.state();
      state.best = {.epoch = 1, .step = step, .value = value};
      if (step == 1) changes[i](state);
      return write_checkpoint(folder.path(), state);
    };
    name_best_checkpoint(write_best(1, 1));
    write_best(3, 0.5);
    EXPECT_TRUE(restore(best_at(3)));
    EXPECT_EQ(step_of_best(folder.path()), 3) << i;
    EXPECT_EQ(std::filesystem::exists(folder.path() / "best-old.h5"), i > 0) << i;
    std::filesystem::remove(folder.path() / "best-old.h5");
  }
}

TEST_F(RestoreBestCheckpoint, NamesNoDamagedOne) {
  test::put_bytes(folder.path() / "best.h5", "no checkpoint");
  test::put_bytes(folder.path() / checkpoint_name(1), "no checkpoint");
  EXPECT_FALSE(restore(best_at(1)));
  EXPECT_FALSE(is_there());
}

TEST_F(RestoreBestCheckpoint, ChangesNothingWhereTheFolderIsOfAnotherProcess) {
  const auto taken_over = [] { throw Error("taken over"); };
  write_at(folder.path(), 4);
  name_best_checkpoint(write_at(folder.path(), 7));
  for (const std::int64_t epoch : {0, 1}) {
    const BestEvaluation best{.epoch = epoch, .step = 4};
    test::expect_error([&] { restore_best_checkpoint(folder.path(), best, taken_over); },
                       ExitCode::failure, {"taken over"});
  }
  test::expect_error([&] { name_best_checkpoint(folder / checkpoint_name(4), taken_over); },
                     ExitCode::failure, {"taken over"});
  EXPECT_EQ(step_of_best(folder.path()), 7);
  EXPECT_THAT(test::names_in(folder.path()),
              ElementsAre("best.h5", checkpoint_name(4), checkpoint_name(7)));
}

TEST_F(RestoreBestCheckpoint, FindsNothingInAnEmptyFolder) {
  EXPECT_TRUE(restore({}));
  EXPECT_FALSE(restore(best_at(1)));
  EXPECT_FALSE(is_there());
}

}  // namespace
}  // namespace quern
