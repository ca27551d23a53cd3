// SPDX-License-Identifier: Apache-2.0
// Networks cut into stages: what one rank computes, bit for bit, and what a checkpoint holds.
#include <gtest/gtest.h>

#include <functional>

#include "comm/exchange.hpp"
#include "runtime/host_staged_transport.hpp"
#include "support/train_grid.hpp"
#include "support/train_samples.hpp"
#include "support/world.hpp"

namespace quern::test {

namespace {

using quern::testing::world;

struct Layers {
  const char* name;
  std::vector<std::string> sets;
  int most_stages = 64;  // that it can be cut into
};

const Layers kMlp{
    "multi-layer perceptron",
    {"network.layers=[{type=\"flatten\"}, {type=\"linear\", features=40}, {type=\"relu\"}, "
     "{type=\"linear\", features=33}, {type=\"relu\"}, {type=\"dropout\", p=0.2}, "
     "{type=\"linear\", features=20}, {type=\"tanh\"}, {type=\"linear\", features=5}]",
     "optimizer={type=\"sgd\", lr=0.05, momentum=0.9}"}};

const Layers kLenet{
    "LeNet",
    {"network.layers=[{type=\"conv2d\", channels=3, kernel=3}, {type=\"relu\"}, "
     "{type=\"conv2d\", channels=5, kernel=2}, {type=\"relu\"}, {type=\"max_pool2d\", size=2}, "
     "{type=\"flatten\"}, {type=\"linear\", features=9}, {type=\"relu\"}, "
     "{type=\"linear\", features=5}]",
     "data.augment={crop=1, flip=true}"}};

const Layers kResnet{
    "residual network",
    {"network.layers=[{type=\"conv2d\", channels=4, kernel=3, padding=1}, "
     "{type=\"batch_norm\", statistics=\"block\"}, {type=\"relu\"}, "
     "{type=\"basic_block\", name=\"layer1\", channels=4, statistics=\"block\"}, "
     "{type=\"basic_block\", name=\"layer2\", channels=6, stride=2, statistics=\"block\"}, "
     "{type=\"basic_block\", name=\"layer3\", channels=6, statistics=\"block\"}, "
     "{type=\"global_avg_pool\"}, {type=\"linear\", name=\"fc\", features=5}]"}};

// Readers of one value that want it in two layouts: gradients are added conversion by conversion.
const Layers kReadersOfAnImage{
    "flat and other readers of an image",
    {"network.layers=[{type=\"conv2d\", name=\"c\", channels=7, kernel=3}, "
     "{type=\"flatten\", name=\"fA\"}, {type=\"linear\", name=\"lA\", features=20}, "
     "{type=\"global_avg_pool\", name=\"g\", input=\"c\"}, "
     "{type=\"linear\", name=\"lG\", features=20}, "
     "{type=\"flatten\", name=\"fB\", input=\"c\"}, "
     "{type=\"linear\", name=\"lB\", features=20}, "
     "{type=\"add\", inputs=[\"lA\", \"lG\", \"lB\"]}, {type=\"linear\", features=5}]"},
    3};

const Layers kReadersOfARow{
    "convolutions and another reader of a row",
    {"network.layers=[{type=\"flatten\"}, {type=\"linear\", name=\"l\", features=32}, "
     "{type=\"conv2d\", name=\"cA\", channels=20, kernel=1}, "
     "{type=\"linear\", name=\"m\", features=20, input=\"l\"}, "
     "{type=\"conv2d\", name=\"cB\", channels=20, kernel=1, input=\"l\"}, "
     "{type=\"add\", inputs=[\"cA\", \"m\", \"cB\"]}, {type=\"linear\", features=5}]"},
    3};

// What crosses into a stage is read there by a pool and by a concat.
const Layers kUNet{
    "U-Net",
    {"network.layers=[{type=\"conv2d\", name=\"c\", channels=3, kernel=3, padding=1}, "
     "{type=\"relu\"}, {type=\"max_pool2d\", size=2}, "
     "{type=\"conv2d\", channels=5, kernel=3, padding=1}, {type=\"relu\"}, "
     "{type=\"upsample\", factor=2}, {type=\"concat\", inputs=[\"upsample1\", \"relu1\"]}, "
     "{type=\"conv2d\", channels=4, kernel=3}, {type=\"relu\"}, {type=\"flatten\"}, "
     "{type=\"linear\", features=5}]"}};

Recipe recipe_of(const Layers& network, int pipeline, const std::vector<std::string>& more = {}) {
  std::vector<std::string> sets = network.sets;
  sets.push_back("train.micro_block=2");
  sets.push_back("parallel.pipeline=" + std::to_string(pipeline));
  sets.insert(sets.end(), more.begin(), more.end());
  return image_recipe(18, sets);
}

void for_each_split(const std::function<void(int pipeline)>& run) {
  for (int pipeline = 1; pipeline <= world().size(); ++pipeline) {
    if (world().size() % pipeline != 0) continue;
    SCOPED_TRACE(std::to_string(pipeline) + " stages");
    run(pipeline);
  }
}

}  // namespace

TEST(Pipeline, HasTheBitsOfOneRankForAnyStagesPiecesAndOrder) {
  const Samples samples = image_samples(30, kImage, 5);  // a full batch and a short one
  for (const Layers& network : {kMlp, kLenet, kResnet, kReadersOfAnImage, kReadersOfARow, kUNet}) {
    SCOPED_TRACE(network.name);
    const Trained expected = train_alone(recipe_of(network, 1), samples, 3);
    for_each_split([&](int pipeline) {
      if (pipeline > network.most_stages) return;
      for (const char* pieces : {"1", "2", "3", "9"}) {
        for (const char* order : {"1f1b", "gpipe"}) {
          SCOPED_TRACE(std::string(pieces) + " pieces, " + order);
          GridTraining split(world(),
                             recipe_of(network, pipeline,
                                       {std::string("parallel.micro_batches=") + pieces,
                                        std::string("parallel.schedule=") + order}),
                             samples);
          split.train(3);
          expect_same(split, expected);
        }
      }
    });
  }
}

TEST(Pipeline, HasTheBitsOfOneRankThroughATransportAndWithSpreadState) {
  const Samples samples = image_samples(30, kImage, 5);
  const Trained expected = train_alone(recipe_of(kResnet, 1), samples, 3);
  for_each_split([&](int pipeline) {
    const Recipe recipe =
        recipe_of(kResnet, pipeline, {"parallel.micro_batches=3", "parallel.shard_optimizer=true"});
    const ProcessGrid grid = make_grid(world(), recipe);
    HostStagedTransport transport(grid.data());
    GridTraining split(world(), recipe, samples, &transport);
    split.train(3);
    expect_same(split, expected);
  });
}

TEST(Pipeline, StagesWithoutParametersHaveNothingToAddAndPassOnWhatTheyGet) {
  const Samples samples = image_samples(30, kImage, 5);
  // For two, three and four stages.
  const std::vector<std::string> none_in_front = {"[\"fc1\"]", "[\"fc1\", \"relu1\"]",
                                                  "[\"fc1\", \"relu1\", \"fc2\"]"};
  const std::vector<std::string> none_between = {"[\"relu1\"]", "[\"relu1\", \"conv2\"]",
                                                 "[\"relu1\", \"conv2\", \"flatten1\"]"};
  const auto check = [&](const Layers& network, const std::vector<std::string>& cuts) {
    SCOPED_TRACE(network.name);
    const Trained expected = train_alone(recipe_of(network, 1), samples, 3);
    for_each_split([&](int pipeline) {
      if (pipeline == 1) return;
      const std::string& cut = cuts.at(static_cast<std::size_t>(pipeline) - 2);
      GridTraining split(
          world(),
          recipe_of(network, pipeline, {"parallel.cut=" + cut, "parallel.micro_batches=3"}),
          samples);
      split.train(3);
      expect_same(split, expected);
    });
  };
  check(kMlp, none_in_front);
  check(kLenet, none_between);
}

// Chunks of the norm are shared by stages.
TEST(Pipeline, ClipsByTheNormOfAllStages) {
  const Samples samples = image_samples(30, kImage, 5);
  for (const Layers& network : {kMlp, kLenet, kResnet}) {
    SCOPED_TRACE(network.name);
    const std::vector<std::string> clipped = {"optimizer={type=\"sgd\", lr=0.05, clip_norm=0.1}",
                                              "parallel.micro_batches=3"};
    const Trained expected = train_alone(recipe_of(network, 1, clipped), samples, 3);
    EXPECT_NE(expected.tensors,
              train_alone(recipe_of(network, 1, {"optimizer={type=\"sgd\", lr=0.05}"}), samples, 3)
                  .tensors);
    for_each_split([&](int pipeline) {
      GridTraining split(world(), recipe_of(network, pipeline, clipped), samples);
      split.train(3);
      expect_same(split, expected);
      // Every rank has a slice of its stage's gradient.
      const Recipe recipe =
          recipe_of(network, pipeline, {clipped[0], clipped[1], "parallel.shard_optimizer=true"});
      const ProcessGrid grid = make_grid(world(), recipe);
      HostStagedTransport transport(grid.data());
      GridTraining spread(world(), recipe, samples, &transport);
      spread.train(3);
      expect_same(spread, expected);
    });
  }
}

TEST(Pipeline, RoundsTheSameOperandsInBf16) {
  const Samples samples = image_samples(30, kImage, 5);
  const std::vector<std::string> bf16 = {"train.precision=bf16", "parallel.micro_batches=2"};
  const Trained expected = train_alone(recipe_of(kMlp, 1, bf16), samples, 3);
  for_each_split([&](int pipeline) {
    GridTraining split(world(), recipe_of(kMlp, pipeline, bf16), samples);
    split.train(3);
    expect_same(split, expected);
  });
}

TEST(Pipeline, TrainsOnTheTargetsOfAnAutoEncoder) {
  const Layers encoder{
      "auto-encoder",
      {"network.layers=[{type=\"flatten\"}, {type=\"linear\", features=20}, {type=\"sigmoid\"}, "
       "{type=\"linear\", features=12}, {type=\"relu\"}, {type=\"linear\", features=36}]",
       "loss.type=mse", "data.target=input"}};
  const Samples samples = image_samples(30, kImage, 5);
  // The last stage reads pixels, unless they are normalized.
  for (const char* choice : {"train.precision=fp32", "train.precision=bf16",
                             "data.normalize={type=\"given\", mean=[0.4], std=[0.3]}"}) {
    const Trained expected = train_alone(recipe_of(encoder, 1, {choice}), samples, 3);
    for_each_split([&](int pipeline) {
      GridTraining split(
          world(), recipe_of(encoder, pipeline, {"parallel.micro_batches=2", choice}), samples);
      split.train(3);
      expect_same(split, expected);
    });
  }
}

TEST(Pipeline, GoesOnFromTheStateOfAnotherGrid) {
  const Samples samples = image_samples(18, kImage, 5);
  const Trained expected = train_alone(recipe_of(kResnet, 1), samples, 4);
  for_each_split([&](int before) {
    GridTraining first(world(), recipe_of(kResnet, before), samples);
    first.train(2);
    const auto snapshot = first.snapshot();
    for_each_split([&](int after) {
      GridTraining second(world(), recipe_of(kResnet, after, {"parallel.micro_batches=3"}),
                          samples);
      second.train(1);
      second.continue_from(snapshot.get());
      second.step.set_position({.step = 2, .epoch = 1});
      second.losses = {expected.losses[0], expected.losses[1]};
      second.train(2);
      expect_same(second, expected);
    });
  });
}

TEST(Pipeline, EveryRankHearsOfALossThatIsNotFinite) {
  const Samples samples = image_samples(18, kImage, 5);
  for_each_split([&](int pipeline) {
    GridTraining split(world(), recipe_of(kMlp, pipeline, {"optimizer.lr=1e30"}), samples);
    StepReport report;
    for (int i = 0; i < 4 && !report.diverged; ++i) {
      if (i > 0) split.step.set_position({.step = i});
      report = split.step.run(ExecSpace(), false);
    }
    EXPECT_TRUE(report.diverged);
    const auto names = all_gather_strings(world(), split.step.non_finite_layer(ExecSpace()));
    EXPECT_NE(names, std::vector<std::string>(names.size()));
  });
}

TEST(Pipeline, EveryRankHearsOfAVote) {
  const Samples samples = image_samples(18, kImage, 5);
  for_each_split([&](int pipeline) {
    for (int voter = 0; voter < world().size(); ++voter) {
      GridTraining split(world(), recipe_of(kMlp, pipeline), samples);
      EXPECT_TRUE(split.step.run(ExecSpace(), voter == world().rank()).stop);
    }
  });
}

}  // namespace quern::test
