// SPDX-License-Identifier: Apache-2.0
// Whole runs of one rank: stopping, resuming, and what they leave in the run folder.
#include "train/trainer.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "checkpoint/reader.hpp"
#include "comm/serial/communicator.hpp"
#include "support/expect_error.hpp"
#include "support/json_lines.hpp"
#include "support/temp_dir.hpp"
#include "support/train_samples.hpp"

namespace quern::test {

namespace {

std::optional<LoadedCheckpoint> newest(const RunFolder& folder) {
  return load_newest_good(folder.checkpoints(),
                          [](const auto&, const std::string& problem) { FAIL() << problem; });
}

// Does what "quern train" does: continues where the run folder stands.
ExitCode train(const Recipe& recipe, const RunFolder& folder, const Samples& samples,
               const Samples* test = nullptr, const TrainerOptions& options = {}) {
  SerialCommunicator comm;
  Model model(recipe);
  Trainer trainer(recipe, comm, folder, model, samples, test, options);
  if (std::filesystem::exists(folder.checkpoints())) {
    const auto start = newest(folder);
    if (start) trainer.resume(&start->state());
    return trainer.run();
  }
  return trainer.run();
}

std::vector<float> weights(const RunFolder& folder) {
  const auto checkpoint = newest(folder);
  std::vector<float> all;
  for (const NamedTensor& tensor : checkpoint->state().model) {
    all.insert(all.end(), tensor.values.begin(), tensor.values.end());
  }
  return all;
}

std::vector<nlohmann::json> metrics(const RunFolder& folder, const std::string& kind) {
  std::vector<nlohmann::json> lines = read_json_lines(folder.metrics_file());
  std::erase_if(lines, [&](const nlohmann::json& line) { return line["kind"] != kind; });
  return lines;
}

void ask_to_stop(const RunFolder& folder) {
  std::filesystem::create_directories(folder.path());
  std::ofstream(folder.stop_file()) << "";
}

}  // namespace

// One of the same step may have been written within the last epoch, which it calls unfinished.
TEST(Trainer, AFinishedRunHasACheckpointOfItsEnd) {
  const TempDir dir;
  const Samples samples = image_samples(10, kImage, 5);
  const Samples test = image_samples(7, kImage, 5);
  const Recipe recipe = image_recipe(10, {"train.epochs=1", "checkpoint.every_epochs=0"});
  const RunFolder run(dir / "run");
  ask_to_stop(run);
  ASSERT_EQ(train(recipe, run, samples, &test), ExitCode::requeue);
  EXPECT_EQ(newest(run)->state().progress.epoch, 0);
  std::filesystem::remove(run.stop_file());
  ASSERT_EQ(train(recipe, run, samples, &test), ExitCode::done);
  const TrainingProgress progress = newest(run)->state().progress;
  EXPECT_EQ(progress.step, 1);
  EXPECT_EQ(progress.epoch, 1);
  EXPECT_EQ(progress.cursor, 0);
  EXPECT_EQ(newest(run)->state().best.epoch, 1);
}

TEST(Trainer, StoppedAfterEveryStepGivesTheBitsOfOneRun) {
  const TempDir dir;
  const Samples samples = image_samples(10, kImage, 5);
  const Samples test = image_samples(7, kImage, 5);
  const Recipe recipe = image_recipe(4, {"train.epochs=2", "train.log_every_steps=1"});
  const RunFolder whole(dir / "whole");
  ASSERT_EQ(train(recipe, whole, samples, &test), ExitCode::done);

  // Three steps an epoch: the stops after steps 3 and 6 fall between the last step of an epoch and
  // its evaluation.
  const RunFolder pieces(dir / "pieces");
  ask_to_stop(pieces);
  for (int step = 1; step <= 6; ++step) {
    ASSERT_EQ(train(recipe, pieces, samples, &test), ExitCode::requeue);
    EXPECT_EQ(newest(pieces)->state().progress.step, step);
    EXPECT_FALSE(std::filesystem::exists(pieces.path() / "DONE"));
  }
  ASSERT_EQ(train(recipe, pieces, samples, &test), ExitCode::done);

  EXPECT_TRUE(std::filesystem::exists(pieces.path() / "DONE"));
  EXPECT_EQ(weights(pieces), weights(whole));
  for (const char* kind : {"step", "epoch", "eval"}) {
    const auto expected = metrics(whole, kind);
    const auto actual = metrics(pieces, kind);
    ASSERT_EQ(actual.size(), expected.size()) << kind;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      for (const char* key : {"epoch", "step", "loss", "accuracy", "samples", "lr"}) {
        EXPECT_EQ(actual[i].value(key, nlohmann::json()), expected[i].value(key, nlohmann::json()))
            << kind << " " << key;
      }
    }
  }
}

// As on a device: the host looks seldom, and nobody can tell from the results.
TEST(Trainer, LookingSeldomGivesTheSameFiles) {
  const TempDir dir;
  const Samples samples = image_samples(23, kImage, 5);
  const Samples test = image_samples(7, kImage, 5);
  const Recipe recipe =
      image_recipe(4, {"train.epochs=3", "train.log_every_steps=4", "train.per_rank_loss=true",
                       "checkpoint.every_steps=5", "checkpoint.keep=100"});
  const RunFolder often(dir / "often");
  ASSERT_EQ(train(recipe, often, samples, &test), ExitCode::done);
  const auto names = [](const RunFolder& folder) {
    std::set<std::string> all;
    for (const auto& file : std::filesystem::directory_iterator(folder.checkpoints())) {
      all.insert(file.path().filename().string());
    }
    return all;
  };
  for (const int every : {2, 3, 50}) {
    const RunFolder seldom(dir / ("every-" + std::to_string(every)));
    ASSERT_EQ(train(recipe, seldom, samples, &test, {nullptr, every}), ExitCode::done);
    EXPECT_EQ(names(seldom), names(often));
    EXPECT_EQ(weights(seldom), weights(often));
    EXPECT_EQ(newest(seldom)->state().progress, newest(often)->state().progress);
    for (const char* kind : {"step", "epoch", "eval"}) {
      const auto expected = metrics(often, kind);
      const auto actual = metrics(seldom, kind);
      ASSERT_EQ(actual.size(), expected.size()) << kind;
      for (std::size_t i = 0; i < actual.size(); ++i) {
        for (const char* key : {"epoch", "step", "loss", "accuracy", "samples", "lr"}) {
          EXPECT_EQ(actual[i].value(key, nlohmann::json()),
                    expected[i].value(key, nlohmann::json()))
              << kind << " " << key;
        }
      }
    }
  }
}

TEST(Trainer, LookingSeldomStopsAtMostAnIntervalLate) {
  const TempDir dir;
  const Samples samples = image_samples(20, kImage, 5);
  const RunFolder folder(dir / "run");
  ask_to_stop(folder);
  ASSERT_EQ(train(image_recipe(4), folder, samples, nullptr, {nullptr, 3}), ExitCode::requeue);
  EXPECT_EQ(newest(folder)->state().progress.step, 3);
}

TEST(Trainer, FinishedRunIsNotFinishedAgain) {
  const TempDir dir;
  const Samples samples = image_samples(10, kImage, 5);
  // The last step is due as a step and the end of an epoch, and "every_epochs" is off.
  const Recipe recipe =
      image_recipe(5, {"checkpoint.every_steps=2", "checkpoint.every_epochs=0", "train.epochs=2"});
  const RunFolder folder(dir / "run");
  ASSERT_EQ(train(recipe, folder, samples), ExitCode::done);
  EXPECT_EQ(newest(folder)->state().progress.epoch, 2);
  ASSERT_EQ(train(recipe, folder, samples), ExitCode::done);
  EXPECT_EQ(metrics(folder, "epoch").size(), 2u);
}

TEST(Trainer, MoreEpochsContinueAFinishedRun) {
  const TempDir dir;
  const Samples samples = image_samples(10, kImage, 5);
  const RunFolder whole(dir / "whole");
  ASSERT_EQ(train(image_recipe(5, {"train.epochs=3"}), whole, samples), ExitCode::done);
  const RunFolder longer(dir / "longer");
  ASSERT_EQ(train(image_recipe(5, {"train.epochs=1"}), longer, samples), ExitCode::done);
  ASSERT_EQ(train(image_recipe(5, {"train.epochs=3"}), longer, samples), ExitCode::done);
  EXPECT_EQ(weights(longer), weights(whole));
}

TEST(Trainer, CheckpointsComeWhenTheyAreDue) {
  const TempDir dir;
  const Samples samples = image_samples(10, kImage, 5);
  const RunFolder folder(dir / "run");
  const Recipe recipe = image_recipe(2, {"checkpoint.every_steps=3", "checkpoint.every_epochs=0",
                                         "checkpoint.keep=100", "train.epochs=2"});
  ASSERT_EQ(train(recipe, folder, samples), ExitCode::done);
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(folder.checkpoints())) {
    names.push_back(file.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"ckpt-0000000003.h5", "ckpt-0000000006.h5",
                                             "ckpt-0000000009.h5", "ckpt-0000000010.h5"}));
}

TEST(Trainer, DivergenceNamesTheLayerAndKeepsTheCheckpoint) {
  const TempDir dir;
  const Samples samples = image_samples(10, kImage, 5);
  const RunFolder folder(dir / "run");
  const Recipe recipe = image_recipe(
      5, {"network.layers=[{type=\"flatten\"}, {type=\"linear\", features=8}, {type=\"linear\", "
          "features=5}]",
          "optimizer={type=\"sgd\", lr=1e20}", "checkpoint.every_epochs=0", "train.epochs=50"});
  expect_error([&] { train(recipe, folder, samples); }, ExitCode::do_not_requeue,
               {"diverged", "step", "layer '"});
  EXPECT_FALSE(newest(folder));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "DONE"));
}

TEST(Trainer, LookingSeldomNamesTheSameStepAndLayerOfADivergence) {
  const TempDir dir;
  const Samples samples = image_samples(23, kImage, 5);
  const Recipe recipe = image_recipe(
      5, {"network.layers=[{type=\"flatten\"}, {type=\"linear\", features=8}, {type=\"linear\", "
          "features=5}]",
          "optimizer={type=\"sgd\", lr=300, momentum=0.9}", "checkpoint.every_epochs=0",
          "train.log_every_steps=0", "train.epochs=50"});
  std::set<std::string> messages;
  for (const int every : {1, 2, 7, 50}) {
    try {
      train(recipe, RunFolder(dir / std::to_string(every)), samples, nullptr, {nullptr, every});
      ADD_FAILURE() << "expected divergence";
    } catch (const Error& error) {
      messages.insert(error.what());
    }
  }
  ASSERT_EQ(messages.size(), 1u) << *messages.begin() << "\n" << *messages.rbegin();
  EXPECT_NE(messages.begin()->find("layer '"), std::string::npos) << *messages.begin();
  EXPECT_EQ(messages.begin()->find("at step 1 "), std::string::npos) << "a test of its first step";
}

TEST(Trainer, CheckpointThatStandsOutsideTheDataIsRefused) {
  const TempDir dir;
  const Samples samples = image_samples(10, kImage, 5);
  const Recipe recipe = image_recipe(5);
  SerialCommunicator comm;
  const RunFolder folder(dir / "run");
  Model model(recipe);
  Trainer trainer(recipe, comm, folder, model, samples, nullptr);
  for (const TrainingProgress& progress :
       {TrainingProgress{.step = -1}, TrainingProgress{.epoch = -1}, TrainingProgress{.cursor = -5},
        TrainingProgress{.cursor = 11}}) {
    CheckpointState state;
    state.progress = progress;
    expect_error([&] { trainer.resume(&state); }, ExitCode::do_not_requeue,
                 {"is at step", "at most 10 samples"});
  }
}

TEST(Trainer, WeightsThatAreNotFiniteAreNeverWritten) {
  const TempDir dir;
  const Samples samples = image_samples(5, kImage, 5);
  const RunFolder folder(dir / "run");
  // One step, whose loss is still finite, and whose update is not.
  const Recipe recipe = image_recipe(5, {"optimizer={type=\"sgd\", lr=3e38, weight_decay=1e10}"});
  expect_error([&] { train(recipe, folder, samples); }, ExitCode::do_not_requeue,
               {"diverged by step 1", "not finite", "no checkpoint was written yet"});
  EXPECT_FALSE(newest(folder));
}

}  // namespace quern::test
