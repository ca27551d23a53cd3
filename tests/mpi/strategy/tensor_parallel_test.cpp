// SPDX-License-Identifier: Apache-2.0
// Layers spread over the ranks: the weights and the optimizer's state of one rank that computes the
// same slices, on any grid.
#include <gtest/gtest.h>

#include <memory>

#include "comm/serial/communicator.hpp"
#include "runtime/host_staged_transport.hpp"
#include "strategy/recipe_grid.hpp"
#include "strategy/training_step.hpp"
#include "support/train_samples.hpp"
#include "support/world.hpp"
#include "train/evaluator.hpp"
#include "train/snapshot.hpp"

namespace quern::test {

namespace {

using quern::testing::world;

constexpr const char* kLeNet =
    "network.layers=[{type=\"conv2d\", channels=20, kernel=3, padding=1}, {type=\"relu\"}, "
    "{type=\"max_pool2d\", size=2}, {type=\"conv2d\", channels=50, kernel=3}, {type=\"relu\"}, "
    "{type=\"flatten\"}, {type=\"linear\", features=500}, {type=\"relu\"}, "
    "{type=\"linear\", features=5}]";
constexpr const char* kMlp =
    "network.layers=[{type=\"flatten\"}, {type=\"linear\", features=203}, {type=\"tanh\"}, "
    "{type=\"dropout\", p=0.2}, {type=\"linear\", features=200}, {type=\"layer_norm\"}, "
    "{type=\"linear\", features=5}]";
constexpr const char* kResNet =
    "network.layers=[{type=\"conv2d\", channels=16, kernel=3, padding=1, bias=false, "
    "name=\"stem\"}, "
    "{type=\"batch_norm\"}, {type=\"relu\", name=\"start\"}, "
    "{type=\"conv2d\", channels=16, kernel=3, padding=1, bias=false}, {type=\"batch_norm\"}, "
    "{type=\"relu\"}, {type=\"conv2d\", channels=16, kernel=3, padding=1, bias=false}, "
    "{type=\"batch_norm\", name=\"end\"}, {type=\"add\", inputs=[\"end\", \"start\"]}, "
    "{type=\"relu\"}, {type=\"global_avg_pool\"}, {type=\"flatten\"}, "
    "{type=\"linear\", features=5}]";
constexpr const char* kSgd = "optimizer={type=\"sgd\", lr=0.05, momentum=0.9}";
constexpr const char* kAdam = "optimizer={type=\"adamw\", lr=0.01, weight_decay=0.1}";

using Sets = std::vector<std::string>;

Recipe recipe_with(Sets sets) {
  sets.push_back("train.micro_block=2");
  return image_recipe(10, sets);
}

using Tensors = std::vector<std::pair<std::string, std::vector<float>>>;

struct Trained {
  Trained(Communicator& comm, const Recipe& recipe, const Samples& samples,
          DeviceTransport* transport = nullptr)
      : grid(make_grid(comm, recipe)),
        model(recipe, stage_of(grid), slices_of(grid, recipe)),
        step(recipe, grid, model, samples, transport) {}

  void train(int steps) {
    for (int i = 0; i < steps; ++i) {
      if (step.cursor() >= 18) step.set_position({.step = step.steps(), .epoch = 1});
      losses.push_back(step.run(ExecSpace(), false).loss);
    }
  }

  // Rank 0's; null elsewhere.
  std::unique_ptr<Snapshot> snapshot() {
    auto taken = std::make_unique<Snapshot>(grid.data(), model.network().table(), step.state());
    if (grid.data().rank() == 0) {
      taken->join_parts(grid.tensor(), model.network().table());
      if (grid.tensor().rank() == 0) taken->collect_stages(grid, model.whole().table());
    }
    return grid.world().rank() == 0 ? std::move(taken) : nullptr;
  }

  // Everything that a checkpoint holds, on rank 0.
  Tensors tensors() {
    const auto taken = snapshot();
    Tensors all;
    if (!taken) return all;
    for (const NamedTensor& tensor : taken->state.model)
      all.emplace_back(tensor.name, std::vector(tensor.values.begin(), tensor.values.end()));
    for (const OptimizerTensors& array : taken->state.optimizer)
      for (const NamedTensor& tensor : array.tensors)
        all.emplace_back(array.name + " " + tensor.name,
                         std::vector(tensor.values.begin(), tensor.values.end()));
    return all;
  }

  ProcessGrid grid;
  Model model;
  TrainingStep step;
  std::vector<double> losses;
};

bool is_root() {
  return world().rank() == 0;
}

struct Grid {
  int tensor;
  int pipeline;
};

/// What these ranks form.
std::vector<Grid> grids() {
  std::vector<Grid> grids;
  for (const Grid grid : {Grid{1, 1}, Grid{2, 1}, Grid{4, 1}, Grid{2, 2}})
    if (world().size() % (grid.tensor * grid.pipeline) == 0) grids.push_back(grid);
  return grids;
}

std::string to_string(const Grid& grid) {
  return "tensor " + std::to_string(grid.tensor) + ", pipeline " + std::to_string(grid.pipeline);
}

Recipe on(const Grid& grid, Recipe recipe) {
  recipe.parallel.tensor = grid.tensor;
  recipe.parallel.pipeline = grid.pipeline;
  return recipe;
}

Sets with(Sets sets, const Sets& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

const std::string kEight = "parallel.tensor_slices=8";

TEST(TensorParallel, HasTheBitsOfOneRankOnEveryGrid) {
  const Samples samples = image_samples(18, kImage, 5);
  for (const Sets& network : {Sets{kLeNet, kSgd}, Sets{kMlp, kAdam}, Sets{kResNet, kSgd}}) {
    SCOPED_TRACE(network.front());
    SerialCommunicator serial;
    Trained alone(serial, recipe_with(with(network, {kEight})), samples);
    alone.train(3);
    const Tensors expected = alone.tensors();
    for (const Grid& grid : grids()) {
      SCOPED_TRACE(to_string(grid));
      Trained spread(world(), on(grid, recipe_with(with(network, {kEight}))), samples);
      spread.train(3);
      EXPECT_EQ(spread.losses, alone.losses);
      const Tensors tensors = spread.tensors();
      if (is_root()) {
        EXPECT_EQ(tensors, expected);
      }
    }
  }
}

TEST(TensorParallel, HasThemInPiecesAndWithSpreadState) {
  const Samples samples = image_samples(18, kImage, 5);
  const Sets network = {kLeNet, kAdam, kEight};
  SerialCommunicator serial;
  Trained alone(serial, recipe_with(network), samples);
  alone.train(3);
  const Tensors expected = alone.tensors();
  for (const Grid& grid : grids()) {
    SCOPED_TRACE(to_string(grid));
    for (const Sets& more :
         {Sets{"parallel.micro_batches=2"}, Sets{"parallel.shard_optimizer=true"}}) {
      Trained spread(world(), on(grid, recipe_with(with(network, more))), samples);
      spread.train(3);
      const Tensors tensors = spread.tensors();
      if (is_root()) {
        EXPECT_EQ(tensors, expected);
      }
    }
  }
}

// Slices end inside chunks of the norm, and some layers are whole on every rank.
TEST(TensorParallel, ClipsByTheNormOfAllParts) {
  const Samples samples = image_samples(18, kImage, 5);
  const Sets network = {kLeNet, "optimizer={type=\"sgd\", lr=0.05, clip_norm=0.01}", kEight};
  SerialCommunicator serial;
  Trained alone(serial, recipe_with(network), samples);
  alone.train(3);
  Trained unclipped(serial, recipe_with(with(network, {"optimizer.clip_norm=0"})), samples);
  unclipped.train(3);
  const Tensors expected = alone.tensors();
  EXPECT_NE(expected, unclipped.tensors());
  for (const Grid& grid : grids()) {
    SCOPED_TRACE(to_string(grid));
    for (const Sets& more : {Sets{}, Sets{"parallel.shard_optimizer=true"}}) {
      const Recipe recipe = on(grid, recipe_with(with(network, more)));
      const ProcessGrid process_grid = make_grid(world(), recipe);
      HostStagedTransport transport(process_grid.data());
      for (DeviceTransport* through :
           {static_cast<DeviceTransport*>(nullptr), static_cast<DeviceTransport*>(&transport)}) {
        Trained spread(world(), recipe, samples, through);
        spread.train(3);
        const Tensors tensors = spread.tensors();
        if (is_root()) {
          EXPECT_EQ(tensors, expected);
        }
      }
    }
  }
}

// Twelve slices on three ranks, as many as there are here.
TEST(TensorParallel, ThreeRanksShareTwelveSlices) {
  if (world().size() != 3) return;
  const Samples samples = image_samples(18, kImage, 5);
  SerialCommunicator serial;
  Trained alone(serial, recipe_with({kLeNet, kSgd, "parallel.tensor_slices=12"}), samples);
  Trained spread(world(), recipe_with({kLeNet, kSgd, "parallel.tensor=3"}), samples);
  alone.train(3);
  spread.train(3);
  const Tensors tensors = spread.tensors();
  if (is_root()) {
    EXPECT_EQ(tensors, alone.tensors());
  }
}

TEST(TensorParallel, BeginsAsWithoutSlices) {
  const Samples samples = image_samples(18, kImage, 5);
  for (const std::string init : {"default", "kaiming", "normal"}) {
    const Sets sets = {kLeNet, kSgd, "network.init={type=\"" + init + "\"}"};
    SerialCommunicator serial;
    Trained alone(serial, recipe_with(sets), samples);
    for (const Grid& grid : grids()) {
      Trained spread(world(), on(grid, recipe_with(with(sets, {kEight}))), samples);
      const Tensors tensors = spread.tensors();
      if (is_root()) {
        EXPECT_EQ(tensors, alone.tensors());
      }
    }
  }
}

TEST(TensorParallel, ResumesOnAnyGrid) {
  const Samples samples = image_samples(18, kImage, 5);
  const Sets network = {kLeNet, kAdam, kEight};
  SerialCommunicator serial;
  Trained alone(serial, recipe_with(network), samples);
  alone.train(2);
  const auto start = alone.snapshot();
  for (const Grid& grid : grids()) {
    SCOPED_TRACE(to_string(grid));
    for (const std::string sharded : {"false", "true"}) {
      const Sets more = {"seed=99", "parallel.shard_optimizer=" + sharded};
      Trained spread(world(), on(grid, recipe_with(with(network, more))), samples);
      spread.train(1);
      restore(spread.grid, is_root() ? &start->state : nullptr, spread.model.whole().table(),
              spread.model.network().table(), spread.step.state());
      spread.step.publish_state();
      const Tensors tensors = spread.tensors();
      if (is_root()) {
        EXPECT_EQ(tensors, alone.tensors());
      }
    }
  }
}

TEST(TensorParallel, EvaluatesAsOneRank) {
  const Samples samples = image_samples(18, kImage, 5);
  const Sets network = {kLeNet, kSgd, kEight};
  SerialCommunicator serial;
  const auto evaluate = [&](Trained& trained, const Recipe& recipe) {
    Evaluator evaluator(trained.grid, trained.model, samples, evaluation_batches(recipe, 10, 18));
    return evaluator.run(ExecSpace());
  };
  const Recipe recipe = recipe_with(network);
  Trained alone(serial, recipe, samples);
  const Evaluation expected = evaluate(alone, recipe);
  for (const Grid& grid : grids()) {
    const Recipe other = on(grid, recipe_with(network));
    Trained spread(world(), other, samples);
    const Evaluation found = evaluate(spread, other);
    EXPECT_EQ(found.loss, expected.loss);
    EXPECT_EQ(found.correct, expected.correct);
  }
}

TEST(TensorParallel, NeedsAShareOfTheMemory) {
  const Samples samples = image_samples(18, kImage, 5);
  const int ranks = world().size();
  if (ranks == 3) return;
  SerialCommunicator serial;
  const Sets sets = {kLeNet, kAdam, kEight};
  const Trained alone(serial, recipe_with(sets), samples);
  const Trained spread(
      world(), recipe_with(with(sets, {"parallel.tensor=" + std::to_string(ranks)})), samples);
  const auto floats = [](const Trained& trained) {
    return static_cast<double>(trained.model.network().table().block_size());
  };
  // But for the last layer, of 5 units.
  EXPECT_LE(floats(spread), floats(alone) / ranks + 8 * 1024);
  EXPECT_LE(static_cast<double>(spread.step.optimizer_bytes()),
            static_cast<double>(alone.step.optimizer_bytes()) / ranks + 64 * 1024);
}

// Whoever asks for a stop, all ranks hear of it at the same step.
TEST(TensorParallel, EveryRankHearsAVote) {
  const Samples samples = image_samples(18, kImage, 5);
  for (const Grid& grid : grids()) {
    for (int voter = 0; voter < world().size(); ++voter) {
      Trained spread(world(), on(grid, recipe_with({kMlp, kSgd, kEight})), samples);
      EXPECT_FALSE(spread.step.run(ExecSpace(), false).stop);
      EXPECT_TRUE(spread.step.run(ExecSpace(), voter == world().rank()).stop);
    }
  }
}

}  // namespace

}  // namespace quern::test
