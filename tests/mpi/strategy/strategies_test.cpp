// SPDX-License-Identifier: Apache-2.0
// Each word of parallel.strategy on 1 to 8 ranks: the weights, losses and figures of one rank.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/count_text.hpp"
#include "support/expect_error.hpp"
#include "support/train_grid.hpp"
#include "support/train_samples.hpp"
#include "support/world.hpp"

namespace quern::test {

namespace {

using quern::testing::world;

using Sets = std::vector<std::string>;

Sets with_optimizer(Sets sets, const std::string& optimizer) {
  sets.push_back("optimizer=" + optimizer);
  return sets;
}

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
const Sets kLenetLamb = with_optimizer(kLenet, "{type=\"lamb\", lr=0.01, weight_decay=0.1}");
const Sets kMlpLars = with_optimizer(
    kMlp, "{type=\"lars\", lr=0.5, momentum=0.9, trust_coefficient=0.02, clip_norm=0.3}");
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

void expect_same(const Sets& network, const Sets& split, const Sets& alone) {
  const Samples samples = image_samples(30, kImage, 5);  // a full batch and a short one
  const Trained expected = train_alone(recipe_of(network, alone), samples, 3);
  GridTraining training(world(), recipe_of(network, split), samples);
  training.train(3);
  expect_same(training, expected);
}

}  // namespace

TEST(Strategies, HaveTheBitsOfOneRank) {
  for (const Sets& network : {kMlp, kLenet, kResnet, kMlpLars, kLenetLamb}) {
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
  for (const Sets& network : {kMlp, kLenet, kResnet, kMlpLars, kLenetLamb}) {
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
               {count_text(ranks, "rank") + " cannot be cut into groups of " +
                std::to_string(ranks + 1) + " (pipeline) x 1 (tensor)"});
  const Recipe parts = recipe_of(kMlp, {"parallel.tensor=" + std::to_string(2 * ranks)});
  expect_error([&] { grid_shape_of(parts, ranks); }, ExitCode::bad_input,
               {count_text(ranks, "rank") + " cannot be cut into groups of 1 (pipeline) x " +
                std::to_string(2 * ranks) + " (tensor)"});
  const Recipe many = recipe_of(kMlp, {"parallel.pipeline=10"});
  expect_error(
      [&] {
        Model(many, StagePlace{0, 10});
      },
      ExitCode::bad_input, {"the network can be cut in 8 places, expected at most 9 stages"});
}

}  // namespace quern::test
