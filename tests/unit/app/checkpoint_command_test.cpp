// SPDX-License-Identifier: Apache-2.0
#include "app/commands.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "checkpoint/model_hash.hpp"
#include "checkpoint/safetensors.hpp"
#include "checkpoint/writer.hpp"
#include "unit/checkpoint/checkpoint_fixture.hpp"

namespace quern {
namespace {

using test::expect_error;
using test::SampleRun;
using test::TempDir;
using ::testing::HasSubstr;

struct Outcome {
  ExitCode code = ExitCode::done;
  std::string output;
};

/// Runs "checkpoint ARGUMENTS..."; exceptions pass, after what was printed is in `output`.
Outcome run(std::vector<std::string> arguments, std::string* output = nullptr) {
  CLI::App app;
  const Command command = add_checkpoint_command(CommandLine(app));
  std::reverse(arguments.begin(), arguments.end());
  arguments.push_back("checkpoint");
  app.parse(arguments);
  ::testing::internal::CaptureStdout();
  Outcome outcome;
  try {
    outcome.code = command.run();
  } catch (...) {
    const std::string printed = ::testing::internal::GetCapturedStdout();
    if (output != nullptr) *output = printed;
    throw;
  }
  outcome.output = ::testing::internal::GetCapturedStdout();
  return outcome;
}

class CheckpointCommandTest : public ::testing::Test {
 protected:
  CheckpointCommandTest() {
    for (const std::int64_t step : {5, 10}) {
      newest_ = write_checkpoint(run_folder_ / "checkpoints", SampleRun(step).state()).string();
    }
    older_ = (run_folder_ / "checkpoints/ckpt-0000000005.h5").string();
  }

  static void damage(const std::string& path) {
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  }

  TempDir run_folder_;
  std::string run_ = run_folder_.path().string();
  std::string newest_;
  std::string older_;
};

TEST_F(CheckpointCommandTest, HashPrintsTheHashAlone) {
  const Outcome outcome = run({"hash", run_});
  EXPECT_EQ(outcome.code, ExitCode::done);
  EXPECT_EQ(outcome.output, model_hash(SampleRun(10).state().model) + "\n");
  EXPECT_EQ(run({"hash", newest_}).output, outcome.output);
}

// Clocks of nodes and file servers differ.
TEST_F(CheckpointCommandTest, ListKnowsFilesOfTheFuture) {
  namespace fs = std::filesystem;
  const auto now = fs::file_time_type::clock::now();
  fs::last_write_time(newest_, now + std::chrono::hours(3));
  fs::last_write_time(older_, now + std::chrono::seconds(30));
  const std::string list = run({"ls", run_}).output;
  EXPECT_THAT(list, HasSubstr("    future  good    ckpt-0000000010.h5"));
  EXPECT_THAT(list, HasSubstr("       0 s  good    ckpt-0000000005.h5"));
}

TEST_F(CheckpointCommandTest, ListShowsNewestFirstAndNamesDamage) {
  const std::string good = run({"ls", run_}).output;
  EXPECT_LT(good.find("ckpt-0000000010.h5"), good.find("ckpt-0000000005.h5"));
  EXPECT_THAT(good, HasSubstr("ckpt-0000000010.h5      newest\n"));
  EXPECT_THAT(good, ::testing::Not(HasSubstr("damaged")));
  damage(newest_);
  const std::string damaged = run({"ls", run_ + "/checkpoints"}).output;
  EXPECT_THAT(damaged, HasSubstr("ckpt-0000000005.h5      newest good\n"));
  EXPECT_THAT(damaged, HasSubstr("damaged: '" + newest_));
}

TEST_F(CheckpointCommandTest, ListOfAnEmptyFolderIsNoError) {
  const TempDir empty;
  EXPECT_THAT(run({"ls", empty.path().string()}).output, HasSubstr("no checkpoints"));
}

TEST_F(CheckpointCommandTest, ShowPrintsAttributesTensorsAndRecipe) {
  const std::string text = run({"show", run_}).output;
  EXPECT_THAT(text, HasSubstr("step            10\n"));
  EXPECT_THAT(text, HasSubstr("seed            18446744073709551615\n"));
  EXPECT_THAT(text, HasSubstr("[4, 6]"));
  EXPECT_THAT(text, HasSubstr("optimizer: exp_avg_sq"));
  EXPECT_EQ(run({"show", run_, "--recipe"}).output, SampleRun().state().origin.recipe + "\n");
}

TEST_F(CheckpointCommandTest, ShowTellsRunningStatisticsFromParameters) {
  SampleRun run_of_norm(20);
  const std::vector<float> mean(4, 0.5f);
  run_of_norm.state().model.push_back({"layer1.0.bn1.running_mean", {4}, mean});
  run_of_norm.state().model.push_back({"layer1.0.bn1.running_var", {4}, mean});
  const std::string file =
      write_checkpoint(run_folder_ / "checkpoints", run_of_norm.state()).string();
  const std::string text = run({"show", file}).output;
  EXPECT_THAT(text, HasSubstr("model: 28 parameters, 8 running statistics, SHA-256"));
  EXPECT_THAT(text, HasSubstr("  layer1.0.bn1.running_mean  [4]\n"));
  EXPECT_THAT(text, HasSubstr("  fc1.weight                 [4, 6]\n"));
  EXPECT_EQ(nlohmann::json::parse(run({"show", file, "--json"}).output)["parameters"], 28);
}

TEST_F(CheckpointCommandTest, ShowPrintsJson) {
  const auto json = nlohmann::json::parse(run({"show", older_, "--json"}).output);
  EXPECT_EQ(json["train"]["step"], 5);
  EXPECT_EQ(json["train"]["seed"].get<std::uint64_t>(), 0xffffffffffffffffu);
  EXPECT_EQ(json["train"]["recipe"], SampleRun().state().origin.recipe);
  EXPECT_EQ(json["model"][0]["name"], "fc1.weight");
  EXPECT_EQ(json["model"][0]["shape"], (std::vector<int>{4, 6}));
  EXPECT_EQ(json["parameters"], 28);
  EXPECT_EQ(json["optimizer"]["exp_avg"].size(), 2u);
}

TEST_F(CheckpointCommandTest, VerifyChecksEveryCheckpointOfARun) {
  EXPECT_EQ(run({"verify", newest_, older_}).code, ExitCode::done);
  EXPECT_THAT(run({"verify", run_}).output, HasSubstr("good: '" + older_));
  damage(older_);
  std::string output;
  expect_error(
      [&] {
        run({"verify", run_}, &output);
      },
      ExitCode::do_not_requeue, {"1 of 2 checkpoints damaged"});
  EXPECT_THAT(output, HasSubstr("damaged: '" + older_));
  EXPECT_THAT(output, HasSubstr("good: '" + newest_));
}

TEST_F(CheckpointCommandTest, DiffTellsByItsExitStatus) {
  EXPECT_EQ(run({"diff", newest_, run_}).code, ExitCode::done);
  const Outcome steps = run({"diff", older_, newest_});
  EXPECT_EQ(steps.code, ExitCode::failure);
  EXPECT_THAT(steps.output, HasSubstr("step: 5 and 10"));

  const TempDir other;
  SampleRun changed(10);
  changed.weight()[20] += 0.5f;
  const auto file = write_checkpoint(other.path(), changed.state()).string();
  const Outcome weights = run({"diff", newest_, file});
  EXPECT_EQ(weights.code, ExitCode::failure);
  EXPECT_THAT(weights.output, ::testing::ContainsRegex("/model/fc1/weight +1 +0.5 +\\[4, 6\\]"));
}

TEST_F(CheckpointCommandTest, DiffNamesTheKeysOfRecipes) {
  const TempDir others;
  const std::string before = R"(
name = "small"
data = {source = "random", samples = 64, global_batch = 10}
loss = {type = "cross_entropy"}
train = {epochs = 3}
optimizer = {type = "sgd", lr = 0.1}
network = {input = [6], layers = [{type = "linear", name = "fc1", features = 4}]}
)";
  int count = 0;
  const auto write = [&](const std::string& recipe) {
    SampleRun sample(10);
    sample.state().origin.recipe = recipe;
    return write_checkpoint(others.path() / std::to_string(++count), sample.state()).string();
  };
  const auto with = [&](const std::string& old, const std::string& changed) {
    std::string text = before;
    return write(text.replace(text.find(old), old.size(), changed));
  };
  const std::string first = write(before);
  const Outcome rates = run({"diff", first, with("lr = 0.1", "lr = 0.2, momentum = 0.5")});
  EXPECT_EQ(rates.code, ExitCode::done) << "the same state";
  EXPECT_THAT(rates.output, HasSubstr("\nrecipe: optimizer.lr: 0.1 and 0.2\n"));
  EXPECT_THAT(rates.output, HasSubstr("\nrecipe: optimizer.momentum: 0.0 and 0.5\n"));
  EXPECT_THAT(run({"diff", first, with("features = 4", "features = 5")}).output,
              HasSubstr("\nrecipe: network.layers[0].features: 4 and 5\n"));
  EXPECT_THAT(run({"diff", first, with("epochs = 3", "epochs = 9")}).output,
              HasSubstr("\nrecipe differs only in what a resumed run may change (show"));
  EXPECT_THAT(run({"diff", first, with("lr = 0.1", "rate = 0.1")}).output,
              HasSubstr("\nrecipe differs, and this quern does not read both (show"));
}

TEST_F(CheckpointCommandTest, ExportWritesOnceUnlessForced) {
  const std::string out = run_ + "/model.safetensors";
  EXPECT_EQ(run({"export", run_, "--out", out}).code, ExitCode::done);
  const std::string bytes = test::bytes_of(out);
  expect_error(
      [&] {
        run({"export", older_, "--out", out});
      },
      ExitCode::bad_input, {out, "--force"});
  EXPECT_EQ(test::bytes_of(out), bytes);
  EXPECT_EQ(run({"export", older_, "--out", out, "--force"}).code, ExitCode::done);
  EXPECT_NE(test::bytes_of(out), bytes);
  expect_error(
      [&] {
        run({"export", run_, "--out", run_ + "/absent/m"});
      },
      ExitCode::bad_input, {"absent"});
}

TEST_F(CheckpointCommandTest, WhatIsNotThereIsBadInput) {
  const std::string absent = run_ + "/absent";
  for (const char* action : {"ls", "show", "verify", "hash"}) {
    expect_error([&] { run({action, absent}); }, ExitCode::bad_input, {absent});
  }
  expect_error([&] { run({"diff", newest_, absent}); }, ExitCode::bad_input, {absent});
  expect_error([&] { run({"ls", newest_}); }, ExitCode::bad_input, {"is a file"});
  const TempDir empty;
  expect_error(
      [&] {
        run({"verify", empty.path().string()});
      },
      ExitCode::bad_input, {"no checkpoint in"});
}

TEST_F(CheckpointCommandTest, DamagedFilesAreUnusable) {
  damage(newest_);
  for (const char* action : {"show", "hash"}) {
    expect_error([&] { run({action, newest_}); }, ExitCode::do_not_requeue, {newest_});
    EXPECT_EQ(run({action, run_}).output, run({action, older_}).output) << "the newest good one";
  }
  damage(older_);
  for (const char* action : {"show", "hash"})
    expect_error([&] { run({action, run_}); }, ExitCode::do_not_requeue, {"none of the 2"});
}

TEST_F(CheckpointCommandTest, UsageIsChecked) {
  CLI::App app;
  add_checkpoint_command(CommandLine(app));
  for (const char* line : {"checkpoint", "checkpoint hash", "checkpoint remove x",
                           "checkpoint show x --json --recipe"}) {
    EXPECT_THROW(app.parse(line), CLI::ParseError) << line;
  }
  expect_error([&] { run({"export", run_}); }, ExitCode::bad_input, {"--out"});
  for (const char* name : {"m.pt", "m.ONNX"})
    expect_error(
        [&] {
          run({"export", run_, "--out", run_ + "/" + name});
        },
        ExitCode::bad_input, {name, "expected .safetensors or .onnx"});
}

}  // namespace
}  // namespace quern
