// SPDX-License-Identifier: Apache-2.0
// Whole runs of one rank: stopping, resuming, and what they leave in the run folder.
#include "train/trainer.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "checkpoint/reader.hpp"
#include "comm/serial/communicator.hpp"
#include "support/expect_error.hpp"
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
               const Samples* test = nullptr) {
  SerialCommunicator comm;
  Model model(recipe);
  Trainer trainer(recipe, comm, folder, model, samples, test);
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
  std::ifstream file(folder.metrics_file());
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line);
    if (json["kind"] == kind) lines.push_back(json);
  }
  return lines;
}

void ask_to_stop(const RunFolder& folder) {
  std::filesystem::create_directories(folder.path());
  std::ofstream(folder.stop_file()) << "";
}

}  // namespace

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
                 {"stands at step", "at most 10 samples"});
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
