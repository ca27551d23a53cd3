// SPDX-License-Identifier: Apache-2.0
// Layers spread over the ranks: the weights and the optimizer's state of one rank that computes the
// same slices, on any grid.
#include <gtest/gtest.h>

#include "runtime/host_staged_transport.hpp"
#include "support/tensor_networks.hpp"
#include "support/train_grid.hpp"
#include "support/train_samples.hpp"
#include "support/world.hpp"

namespace quern::test {

namespace {

using quern::testing::world;

bool is_root() {
  return world().rank() == 0;
}

/// `network` cut into eight slices, with `more`.
void expect_same_on_every_grid(const Sets& network, const std::vector<Sets>& more = {{}}) {
  SCOPED_TRACE(network.front());
  const Samples samples = image_samples(18, kImage, 5);
  const Trained expected = train_alone(sliced_recipe(network), samples, 3);
  for (const Grid& grid : grids(world().size())) {
    SCOPED_TRACE(to_string(grid));
    for (const Sets& sets : more) {
      GridTraining spread(world(), on(grid, sliced_recipe(with(network, sets))), samples);
      spread.train(3);
      expect_same(spread, expected);
    }
  }
}

TEST(TensorParallel, HasTheBitsOfOneRankOnEveryGrid) {
  for (const Sets& network :
       {Sets{kSlicedLeNet, kSgd}, Sets{kSlicedMlp, kAdam}, Sets{kSlicedResNet, kSgd}})
    expect_same_on_every_grid(network);
}

TEST(TensorParallel, HasThemInPiecesAndWithSpreadState) {
  expect_same_on_every_grid({kSlicedLeNet, kAdam},
                            {{"parallel.micro_batches=2"}, {"parallel.shard_optimizer=true"}});
}

// Slices of one group of units, which fill half a tile of operands, and of two and more.
TEST(TensorParallel, HasThemWithRoundedOperands) {
  const std::string bf16 = "train.precision=bf16";
  const std::string wide =
      "network.layers=[{type=\"flatten\"}, {type=\"linear\", features=300}, {type=\"relu\"}, "
      "{type=\"linear\", features=520}, {type=\"tanh\"}, {type=\"linear\", features=130}, "
      "{type=\"linear\", features=5}]";
  for (const Sets& network : {Sets{kSlicedLeNet, kSgd, bf16}, Sets{kSlicedMlp, kAdam, bf16},
                              Sets{wide, kSgd, bf16}, Sets{kSlicedMlp, kLars, bf16}})
    expect_same_on_every_grid(network, {{}, {"parallel.micro_batches=2"}});
  expect_same_on_every_grid({kSlicedResNet, kSgd, bf16});
  const Samples samples = image_samples(18, kImage, 5);
  const Trained rounded = train_alone(sliced_recipe({wide, kSgd, bf16}), samples, 3);
  const Trained exact = train_alone(sliced_recipe({wide, kSgd}), samples, 3);
  EXPECT_NE(rounded.losses, exact.losses);
  EXPECT_NEAR(rounded.losses.back() / exact.losses.back(), 1, 1e-2);
}

// Slices end inside chunks of the norm, and some layers are whole on every rank.
TEST(TensorParallel, ClipsByTheNormOfAllParts) {
  const Samples samples = image_samples(18, kImage, 5);
  const Sets network = {kSlicedLeNet, "optimizer={type=\"sgd\", lr=0.05, clip_norm=0.01}"};
  const Trained expected = train_alone(sliced_recipe(network), samples, 3);
  const Trained unclipped =
      train_alone(sliced_recipe(with(network, {"optimizer.clip_norm=0"})), samples, 3);
  EXPECT_NE(expected.tensors, unclipped.tensors);
  for (const Grid& grid : grids(world().size())) {
    SCOPED_TRACE(to_string(grid));
    for (const Sets& more : {Sets{}, Sets{"parallel.shard_optimizer=true"}}) {
      const Recipe recipe = on(grid, sliced_recipe(with(network, more)));
      const ProcessGrid process_grid = make_grid(world(), recipe);
      HostStagedTransport transport(process_grid.data());
      for (const GridTransports& through : {GridTransports{}, GridTransports{&transport}}) {
        GridTraining spread(world(), recipe, samples, through);
        spread.train(3);
        expect_same(spread, expected);
      }
    }
  }
}

// Norms of tensors whose slices are on several ranks, each of which may have but a part of a slice.
TEST(TensorParallel, LarsAndLambHaveTheRatiosOfWholeTensors) {
  const Samples samples = image_samples(18, kImage, 5);
  for (const Sets& network : {Sets{kSlicedLeNet, kLars}, Sets{kSlicedMlp, kLamb}}) {
    expect_same_on_every_grid(network, {{}, {"parallel.micro_batches=2"}});
    const Trained expected = train_alone(sliced_recipe(network), samples, 3);
    for (const Grid& grid : grids(world().size())) {
      SCOPED_TRACE(to_string(grid));
      const Recipe recipe =
          on(grid, sliced_recipe(with(network, {"parallel.shard_optimizer=true"})));
      const ProcessGrid process_grid = make_grid(world(), recipe);
      HostStagedTransport transport(process_grid.data());
      for (const GridTransports& through : {GridTransports{}, GridTransports{&transport}}) {
        GridTraining spread(world(), recipe, samples, through);
        spread.train(3);
        expect_same(spread, expected);
      }
    }
  }
}

// Twelve slices on three ranks, as many as there are here.
TEST(TensorParallel, ThreeRanksShareTwelveSlices) {
  if (world().size() != 3) return;
  const Samples samples = image_samples(18, kImage, 5);
  const Trained expected =
      train_alone(recipe_with({kSlicedLeNet, kSgd, "parallel.tensor_slices=12"}), samples, 3);
  GridTraining spread(world(), recipe_with({kSlicedLeNet, kSgd, "parallel.tensor=3"}), samples);
  spread.train(3);
  expect_same(spread, expected);
}

TEST(TensorParallel, BeginsAsWithoutSlices) {
  const Samples samples = image_samples(18, kImage, 5);
  for (const std::string init : {"default", "kaiming", "normal"}) {
    const Sets sets = {kSlicedLeNet, kSgd, "network.init={type=\"" + init + "\"}"};
    const Trained expected = train_alone(recipe_with(sets), samples, 0);
    for (const Grid& grid : grids(world().size())) {
      GridTraining spread(world(), on(grid, sliced_recipe(sets)), samples);
      expect_same(spread, expected);
    }
  }
}

TEST(TensorParallel, ResumesOnAnyGrid) {
  const Samples samples = image_samples(18, kImage, 5);
  const Sets network = {kSlicedLeNet, kAdam};
  SerialCommunicator serial;
  GridTraining alone(serial, sliced_recipe(network), samples);
  alone.train(2);
  const auto start = alone.snapshot();
  const NamedValues expected = alone.tensors();
  for (const Grid& grid : grids(world().size())) {
    SCOPED_TRACE(to_string(grid));
    for (const std::string sharded : {"false", "true"}) {
      const Sets more = {"seed=99", "parallel.shard_optimizer=" + sharded};
      GridTraining spread(world(), on(grid, sliced_recipe(with(network, more))), samples);
      spread.train(1);
      spread.continue_from(is_root() ? start.get() : nullptr);
      const NamedValues tensors = spread.tensors();
      if (is_root()) {
        EXPECT_EQ(tensors, expected);
      }
    }
  }
}

TEST(TensorParallel, NeedsAShareOfTheMemory) {
  const Samples samples = image_samples(18, kImage, 5);
  const int ranks = world().size();
  if (ranks == 3) return;
  SerialCommunicator serial;
  const Sets sets = {kSlicedLeNet, kAdam};
  const GridTraining alone(serial, sliced_recipe(sets), samples);
  const GridTraining spread(
      world(), sliced_recipe(with(sets, {"parallel.tensor=" + std::to_string(ranks)})), samples);
  const auto floats = [](const GridTraining& training) {
    return static_cast<double>(training.model.network().table().block_size());
  };
  // But for the last layer, of 5 units.
  EXPECT_LE(floats(spread), floats(alone) / ranks + 8 * 1024);
  EXPECT_LE(static_cast<double>(spread.step.figures().optimizer_bytes),
            static_cast<double>(alone.step.figures().optimizer_bytes) / ranks + 64 * 1024);
}

// Whoever asks for a stop, all ranks hear of it at the same step.
TEST(TensorParallel, EveryRankHearsAVote) {
  const Samples samples = image_samples(18, kImage, 5);
  for (const Grid& grid : grids(world().size())) {
    for (int voter = 0; voter < world().size(); ++voter) {
      GridTraining spread(world(), on(grid, sliced_recipe({kSlicedMlp, kSgd})), samples);
      EXPECT_FALSE(spread.step.run(ExecSpace(), false).stop);
      EXPECT_TRUE(spread.step.run(ExecSpace(), voter == world().rank()).stop);
    }
  }
}

}  // namespace

}  // namespace quern::test
