// SPDX-License-Identifier: Apache-2.0
// What quern train does, from C++. tests/e2e has the same through the program.
#include "train/training_run.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "comm/serial/communicator.hpp"
#include "config/read_recipe.hpp"
#include "samples/own_samples.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

namespace quern::test {

namespace {

Recipe recipe(const std::vector<std::string>& more = {}) {
  return parse_recipe(R"(
name = "own"
data = {source = "program", global_batch = 8}
loss = {type = "cross_entropy"}
optimizer = {type = "sgd", lr = 1.0}
train = {epochs = 30}
network = {input = [1], layers = [{type = "linear", features = 2}]}
)",
                      "test", more);
}

// The sign of a number; `flip` calls the classes the other way round.
Samples signs(int count, bool flip = false) {
  std::vector<float> values;
  std::vector<std::uint8_t> labels;
  for (int i = 0; i < count; ++i) {
    values.push_back((static_cast<float>(i) + 0.5f) / static_cast<float>(count) - 0.5f);
    labels.push_back((values.back() > 0) != flip);
  }
  return make_labelled_samples({1}, values, labels, 2);
}

}  // namespace

TEST(TrainingRun, TrainsEvaluatesAndGoesOn) {
  const TempDir folder;
  SerialCommunicator comm;
  {
    TrainingRun run(comm, recipe(),
                    {.folder = folder / "run", .train = signs(64), .test = signs(10)});
    EXPECT_EQ(run.train(), ExitCode::done);
    const Evaluation result = run.evaluate();
    EXPECT_EQ(result.samples, 10);
    EXPECT_GT(result.accuracy(), 0.85);
    EXPECT_TRUE(std::filesystem::exists(run.folder() / "DONE"));
  }
  // Done already: the weights come from the checkpoint.
  TrainingRun again(comm, recipe(),
                    {.folder = folder / "run", .train = signs(64), .test = signs(10, true)});
  EXPECT_EQ(again.train(), ExitCode::done);
  EXPECT_LT(again.evaluate().accuracy(), 0.15);
}

TEST(TrainingRun, RefusesWhatDoesNotFit) {
  const TempDir folder;
  SerialCommunicator comm;
  const auto make = [&](const Recipe& of, RunOptions options) {
    return [&comm, of, options] { TrainingRun run(comm, of, options); };
  };
  expect_error(make(recipe(), {.folder = folder / "a"}), ExitCode::bad_input,
               {"data.source = \"program\" is for C++ programs", "or RunOptions::train"});
  expect_error(
      make(recipe({"data.source=random", "data.samples=9", "data.target=values", "loss.type=mse"}),
           {.folder = folder / "a", .train = signs(64)}),
      ExitCode::bad_input, {"brings its own samples, but data.source is another"});
  expect_error(make(recipe({"network.input=[3]"}), {.folder = folder / "a", .train = signs(64)}),
               ExitCode::bad_input, {"network.input is [3]"});
  expect_error(make(recipe({"data.target=values", "loss.type=mse"}),
                    {.folder = folder / "a", .train = signs(64)}),
               ExitCode::bad_input,
               {"come with labels, not with values", "'quern shard --targets'", "and 2 outputs"});
  EXPECT_FALSE(std::filesystem::exists(folder / "a")) << "nothing is written";
  TrainingRun run(comm, recipe(), {.folder = folder / "a", .train = signs(64)});
  expect_error([&] { run.evaluate(); }, ExitCode::bad_input, {"no test samples"});
  run.train();
  expect_error([&] { run.train(); }, ExitCode::failure, {"train() is called again"});
  expect_error(make(recipe(), {.folder = folder / "a", .train = signs(64, true)}),
               ExitCode::bad_input, {"was trained on other data"});
  expect_error(make(recipe(), {.folder = folder / "a", .changes = {"seed"}, .train = signs(64)}),
               ExitCode::bad_input, {"RunOptions::changes: seed: cannot change in a run"});
  expect_error(make(recipe({"optimizer.lr=0.5"}), {.folder = folder / "a", .train = signs(64)}),
               ExitCode::bad_input, {"--change optimizer.lr=... resumes with"});
  EXPECT_NO_THROW(
      make(recipe({"optimizer.lr=0.5", "train.epochs=40"}),
           {.folder = folder / "a", .changes = {"optimizer.lr"}, .train = signs(64)})());
  expect_error(make(recipe(), {.folder = folder / "a", .resume = "never", .train = signs(64)}),
               ExitCode::bad_input, {"holds a run already"});
}

TEST(TrainingRun, ThatIsAPlanTellsWhatIsWrongWithTheFolder) {
  const TempDir folder;
  SerialCommunicator comm;
  TrainingRun(comm, recipe(), {.folder = folder / "a", .train = signs(64)}).train();
  TrainingRun same(comm, recipe(), {.folder = folder / "a", .is_plan = true, .train = signs(64)});
  EXPECT_EQ(same.folder_problem(), "");
  TrainingRun other(comm, recipe({"optimizer.lr=0.5"}),
                    {.folder = folder / "a", .is_plan = true, .train = signs(64)});
  EXPECT_NE(other.folder_problem().find("belongs to a run of a different recipe: optimizer.lr"),
            std::string::npos)
      << other.folder_problem();
  expect_error([&] { other.train(); }, ExitCode::bad_input, {"a run of a different recipe"});
}

// As parse_recipe() does with a text.
TEST(TrainingRun, RefusesARecipeThatWasFilledInWrongly) {
  const TempDir folder;
  SerialCommunicator comm;
  const auto refuse = [&](const auto& change, const std::string& words) {
    Recipe filled = recipe();
    change(filled);
    expect_error(
        [&] { TrainingRun run(comm, filled, {.folder = folder / "a", .train = signs(64)}); },
        ExitCode::bad_input, {words});
  };
  refuse([](Recipe& r) { r.network.layers.clear(); }, "the recipe: network.layers: ");
  refuse([](Recipe& r) { r.optimizer = {}; }, "the recipe: optimizer.lr: ");
  refuse([](Recipe& r) { r.network.layers[0].features = -3; }, "features: ");
  refuse([](Recipe& r) { r.network.layers[0].name = ""; }, "name: ");
  refuse([](Recipe& r) { r.data.target = TargetType::values; }, "cross_entropy");
  refuse([](Recipe& r) { r.train.epochs = -2; }, "the recipe: train.epochs: ");
  refuse([](Recipe& r) { r.name = "../../escape"; }, "the recipe: name: ");
  refuse([](Recipe& r) { r.loss.label_smoothing = 3; }, "the recipe: loss.label_smoothing: ");
  refuse([](Recipe& r) { r.data.global_batch = 0; }, "the recipe: data");
  refuse([](Recipe& r) { r.seed = ~std::uint64_t{0}; }, "the recipe: ");
  refuse([](Recipe& r) { r.loss.type = static_cast<LossType>(99); }, "the recipe: ");
  refuse([](Recipe& r) { r = {}; }, "the recipe: ");
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
  expect_error(
      [&] { TrainingRun run(comm, recipe(), {.folder = folder / "a", .train = Samples{}}); },
      ExitCode::bad_input, {"RunOptions::train has no samples"});
}

TEST(TrainingRun, GoesOnWithTheSameNodeSamplesOnly) {
  const TempDir folder;
  SerialCommunicator comm;
  const auto run_with = [&](float first) {
    const ShardContent content{
        .input = StoredType::float32, .shape = {1}, .answer_type = StoredType::int32, .classes = 2};
    const auto fill = [&](const SampleArrays& arrays) {
      for (std::size_t i = 0; i < 16; ++i) {
        arrays.values[i] = i == 0 ? first : static_cast<float>(i) / 16;
        arrays.labels[i] = i % 2;
      }
    };
    TrainingRun run(
        comm, recipe({"train.epochs=1"}),
        {.folder = folder / "run", .train = make_node_samples(comm, "mine", 16, content, fill)});
    return run.train();
  };
  EXPECT_EQ(run_with(0), ExitCode::done);
  EXPECT_EQ(run_with(0), ExitCode::done);
  expect_error([&] { run_with(3); }, ExitCode::bad_input, {"was trained on other data"});
}

}  // namespace quern::test
