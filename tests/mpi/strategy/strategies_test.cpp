// SPDX-License-Identifier: Apache-2.0
// Each word of parallel.strategy on 1 to 8 ranks: the weights, losses and figures of one rank.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "comm/serial/communicator.hpp"
#include "strategy/recipe_grid.hpp"
#include "strategy/training_step.hpp"
#include "support/expect_error.hpp"
#include "support/train_samples.hpp"
#include "support/world.hpp"
#include "train/evaluator.hpp"
#include "train/snapshot.hpp"

namespace quern::test {

namespace {

using quern::testing::world;

using Sets = std::vector<std::string>;

// Each can be cut into eight stages, and has layers that seven ranks can share.
const Sets kMlp = {
    "network.layers=[{type=\"flatten\"}, {type=\"linear\", features=240}, {type=\"relu\"}, "
    "{type=\"linear\", features=33}, {type=\"relu\"}, {type=\"dropout\", p=0.2}, "
    "{type=\"linear\", features=240}, {type=\"tanh\"}, {type=\"linear\", features=5}]",
    "optimizer={type=\"adam\", lr=0.01, clip_norm=0.3}"};
const Sets kLenet = {
    "network.layers=[{type=\"conv2d\", channels=20, kernel=3}, {type=\"relu\"}, "
    "{type=\"conv2d\", channels=15, kernel=2}, {type=\"relu\"}, {type=\"max_pool2d\", size=2}, "
    "{type=\"flatten\"}, {type=\"linear\", features=225}, {type=\"relu\"}, "
    "{type=\"linear\", features=5}]",
    "optimizer={type=\"sgd\", lr=0.05, momentum=0.9}"};
const Sets kResnet = {
    "network.layers=[{type=\"conv2d\", channels=16, kernel=3, padding=1}, "
    "{type=\"batch_norm\", statistics=\"block\"}, {type=\"relu\"}, "
    "{type=\"basic_block\", name=\"layer1\", channels=16, statistics=\"block\"}, "
    "{type=\"basic_block\", name=\"layer2\", channels=20, stride=2, statistics=\"block\"}, "
    "{type=\"basic_block\", name=\"layer3\", channels=20, statistics=\"block\"}, "
    "{type=\"global_avg_pool\"}, {type=\"linear\", name=\"fc\", features=5}]",
    "optimizer={type=\"sgd\", lr=0.05, clip_norm=0.3}"};

Recipe recipe_of(Sets sets, const Sets& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  sets.push_back("train.micro_block=2");
  return image_recipe(18, sets);
}

using Tensors = std::vector<std::vector<float>>;

/// What a training comes to; tensors on rank 0 alone.
struct Outcome {
  std::vector<double> losses;
  Tensors tensors;
  double test_loss = 0;
  std::int64_t correct = 0;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome train(Communicator& comm, const Recipe& given, const Samples& samples) {
  const Recipe recipe = with_strategy(given, comm.size());
  const ProcessGrid grid = make_grid(comm, recipe);
  Model model(recipe, stage_of(grid), slices_of(grid, recipe));
  TrainingStep step(recipe, grid, model, samples);
  Outcome outcome;
  for (int i = 0; i < 3; ++i) {
    if (step.cursor() >= samples.count) step.set_position({.step = step.steps(), .epoch = 1});
    outcome.losses.push_back(step.run(ExecSpace(), false).loss);
  }
  Evaluator evaluator(grid, model, samples,
                      evaluation_batches(recipe, step.full_batch().samples(), samples.count,
                                         recipe.parallel.micro_batches));
  const Evaluation evaluation = evaluator.run(ExecSpace());
  outcome.test_loss = evaluation.loss;
  outcome.correct = evaluation.correct;
  Snapshot snapshot(grid.data(), model.network().table(), step.state());
  if (grid.data().rank() == 0) {
    snapshot.join_parts(grid.tensor(), model.network().table());
    if (grid.tensor().rank() == 0) snapshot.collect_stages(grid, model.whole().table());
  }
  if (comm.rank() != 0) return outcome;
  const auto keep = [&](const std::vector<NamedTensor>& tensors) {
    for (const NamedTensor& tensor : tensors)
      outcome.tensors.emplace_back(tensor.values.begin(), tensor.values.end());
  };
  keep(snapshot.state.model);
  for (const OptimizerTensors& array : snapshot.state.optimizer) keep(array.tensors);
  return outcome;
}

void expect_same(const Sets& network, const Sets& split, const Sets& alone) {
  const Samples samples = image_samples(30, kImage, 5);  // a full batch and a short one
  SerialCommunicator serial;
  Outcome expected = train(serial, recipe_of(network, alone), samples);
  if (world().rank() != 0) expected.tensors.clear();
  const Outcome found = train(world(), recipe_of(network, split), samples);
  EXPECT_EQ(found.losses, expected.losses);
  EXPECT_EQ(found.test_loss, expected.test_loss);
  EXPECT_TRUE(found == expected);
}

}  // namespace

TEST(Strategies, HaveTheBitsOfOneRank) {
  for (const Sets& network : {kMlp, kLenet, kResnet}) {
    for (const char* word : {"data", "sharded", "pipeline"}) {
      SCOPED_TRACE(std::string(word) + " " + network.front());
      expect_same(network, {std::string("parallel.strategy=") + word}, {});
    }
    SCOPED_TRACE("tensor " + network.front());
    int slices = world().size();
    while (slices < 8) slices *= 2;
    expect_same(network, {"parallel.strategy=tensor"},
                {"parallel.tensor_slices=" + std::to_string(slices)});
  }
}

// Stages and parts of layers and samples together, where the ranks can be divided so.
TEST(Strategies, Compose) {
  if (world().size() % 4 != 0) return;
  for (const Sets& network : {kMlp, kLenet, kResnet}) {
    SCOPED_TRACE(network.front());
    expect_same(network,
                {"parallel.pipeline=2", "parallel.tensor=2", "parallel.micro_batches=2",
                 "parallel.shard_optimizer=true"},
                {"parallel.tensor_slices=8"});
  }
}

TEST(Strategies, OneRankIsAllThatSingleTakes) {
  const Recipe recipe = recipe_of(kMlp, {"parallel.strategy=single"});
  if (world().size() == 1)
    expect_same(kMlp, {"parallel.strategy=single"}, {});
  else
    expect_error([&] { with_strategy(recipe, world().size()); }, ExitCode::bad_input,
                 {"ranks were started"});
}

// Each of the words, and each grid that has no place for all ranks.
TEST(Strategies, NamesTheRanksThatDoNotFit) {
  const int ranks = world().size();
  const Recipe stages = recipe_of(kMlp, {"parallel.pipeline=" + std::to_string(ranks + 1)});
  expect_error([&] { grid_shape_of(stages, ranks); }, ExitCode::bad_input,
               {std::to_string(ranks) + " ranks cannot be cut into groups of " +
                std::to_string(ranks + 1) + " (pipeline) x 1 (tensor)"});
  const Recipe parts = recipe_of(kMlp, {"parallel.tensor=" + std::to_string(2 * ranks)});
  expect_error([&] { grid_shape_of(parts, ranks); }, ExitCode::bad_input,
               {std::to_string(ranks) + " ranks cannot be cut into groups of 1 (pipeline) x " +
                std::to_string(2 * ranks) + " (tensor)"});
  const Recipe many = recipe_of(kMlp, {"parallel.pipeline=10"});
  expect_error(
      [&] {
        Model(many, StagePlace{0, 10});
      },
      ExitCode::bad_input, {"the network can be cut in 8 places, expected at most 9 stages"});
}

}  // namespace quern::test
