// SPDX-License-Identifier: Apache-2.0
// Optimizer state spread over the ranks: the weights and the state of one rank that has it all,
// whichever way the ranks reach each other.
#include <gtest/gtest.h>

#include <memory>

#include "runtime/host_staged_transport.hpp"
#include "support/lone_nodes.hpp"
#include "support/train_grid.hpp"
#include "support/train_samples.hpp"
#include "support/world.hpp"

namespace quern::test {

namespace {

using quern::testing::LoneNodes;
using quern::testing::world;

constexpr const char* kOptimizers[] = {
    "{type=\"sgd\", lr=0.05}",
    "{type=\"sgd\", lr=0.05, momentum=0.9, clip_norm=0.1}",
    "{type=\"adamw\", lr=0.01, weight_decay=0.1, decay=\"weights\"}",
    "{type=\"adam\", lr=0.01, clip_norm=0.1}",
    "{type=\"lars\", lr=0.5, momentum=0.9, weight_decay=0.01, trust_coefficient=0.02}",
    "{type=\"lamb\", lr=0.01, weight_decay=0.1, decay=\"weights\", clip_norm=0.1}",
};

// Five chunks of GradientClip and a piece of a sixth, so that some ranks of seven own nothing; with
// running statistics.
Recipe recipe_with(const std::string& optimizer, const std::vector<std::string>& more = {}) {
  std::vector<std::string> sets = {
      "train.micro_block=2", "optimizer=" + optimizer,
      "network.layers=[{type=\"conv2d\", channels=3, kernel=3}, {type=\"batch_norm\"}, "
      "{type=\"relu\"}, {type=\"flatten\"}, {type=\"linear\", features=400}, "
      "{type=\"linear\", features=17}, {type=\"linear\", features=5}]"};
  sets.insert(sets.end(), more.begin(), more.end());
  return image_recipe(10, sets);
}

const std::string kSharded = "parallel.shard_optimizer=true";

// Calls run(communicator, transport) for every way in which ranks can be connected here.
template <class Run>
void for_each_way(const Run& run) {
  HostStagedTransport transport(world());
  if (kHostExecution || world().size() == 1) {
    LoneNodes nodes(world());
    SCOPED_TRACE("by messages");
    run(nodes, nullptr);
  }
  if (kHostExecution) {
    SCOPED_TRACE("through shared memory");
    run(world(), nullptr);
  }
  SCOPED_TRACE("through a transport");
  run(world(), &transport);
}

bool is_root() {
  return world().rank() == 0;
}

TEST(ShardOptimizer, HasTheBitsOfOneRankForEveryOptimizer) {
  const Samples samples = image_samples(18, kImage, 5);
  for (const std::string optimizer : kOptimizers) {
    SCOPED_TRACE(optimizer);
    SerialCommunicator serial;
    GridTraining alone(serial, recipe_with(optimizer), samples);
    alone.train(3);
    const auto expected = alone.tensors();
    for_each_way([&](Communicator& comm, DeviceTransport* transport) {
      GridTraining spread(comm, recipe_with(optimizer, {kSharded}), samples, transport);
      spread.train(3);
      EXPECT_EQ(spread.losses, alone.losses);
      EXPECT_EQ(to_vector(spread.model.parameters()), to_vector(alone.model.parameters()));
      const auto tensors = spread.tensors();
      if (is_root()) {
        EXPECT_EQ(tensors, expected);
      }
    });
  }
}

TEST(ShardOptimizer, HasTheBitsOfOneRankInPieces) {
  const Samples samples = image_samples(18, kImage, 5);
  const std::vector<std::string> block = {"network.layers.bn1.statistics=block"};
  std::vector<std::string> pieces = block;
  pieces.insert(pieces.end(), {kSharded, "parallel.micro_batches=2"});
  SerialCommunicator serial;
  GridTraining alone(serial, recipe_with(kOptimizers[3], block), samples);
  alone.train(3);
  for_each_way([&](Communicator& comm, DeviceTransport* transport) {
    GridTraining spread(comm, recipe_with(kOptimizers[3], pieces), samples, transport);
    spread.train(3);
    EXPECT_EQ(to_vector(spread.model.parameters()), to_vector(alone.model.parameters()));
  });
}

TEST(ShardOptimizer, FastSumsAreThoseWithoutIt) {
  const Samples samples = image_samples(18, kImage, 5);
  for_each_way([&](Communicator& comm, DeviceTransport* transport) {
    const std::string fast = "train.determinism=fast";
    GridTraining whole(comm, recipe_with(kOptimizers[3], {fast}), samples, transport);
    GridTraining spread(comm, recipe_with(kOptimizers[3], {fast, kSharded}), samples, transport);
    whole.train(3);
    spread.train(3);
    EXPECT_EQ(to_vector(spread.model.parameters()), to_vector(whole.model.parameters()));
  });
}

// Every rank gets its part of rank 0's checkpoint, and goes on with it.
TEST(ShardOptimizer, ResumesFromOneRankAndFromMany) {
  const Samples samples = image_samples(18, kImage, 5);
  for (const std::string optimizer : {kOptimizers[3], kOptimizers[4], kOptimizers[5]}) {
    SCOPED_TRACE(optimizer);
    SerialCommunicator serial;
    GridTraining alone(serial, recipe_with(optimizer), samples);
    alone.train(2);
    const auto start = alone.snapshot();
    const NamedValues expected = alone.tensors();
    alone.train(2);
    for_each_way([&](Communicator& comm, DeviceTransport* transport) {
      GridTraining spread(comm, recipe_with(optimizer, {kSharded, "seed=99"}), samples, transport);
      spread.train(1);
      spread.continue_from(is_root() ? start.get() : nullptr);
      GridTraining whole(comm, recipe_with(optimizer, {"seed=98"}), samples, transport);
      whole.continue_from(spread.snapshot().get());
      for (GridTraining* resumed : {&spread, &whole}) {
        const NamedValues tensors = resumed->tensors();
        if (is_root()) {
          EXPECT_EQ(tensors, expected);
        }
      }
    });
  }
}

TEST(ShardOptimizer, NeedsAShareOfTheOptimizersMemory) {
  const Samples samples = image_samples(18, kImage, 5);
  const std::string adam = "{type=\"adam\", lr=0.01}";
  LoneNodes nodes(world());
  std::unique_ptr<DeviceTransport> transport;
  if (!kHostExecution) transport = std::make_unique<HostStagedTransport>(world());
  const GridTraining whole(nodes, recipe_with(adam), samples, transport.get());
  const GridTraining spread(nodes, recipe_with(adam, {kSharded}), samples, transport.get());
  std::int64_t floats = 0;
  for (const StateArray& array : spread.step.state().optimizer)
    for (const FloatView& piece : array.pieces) floats += static_cast<std::int64_t>(piece.size());
  std::int64_t all = 0;
  for (const StateArray& array : whole.step.state().optimizer)
    for (const FloatView& piece : array.pieces) all += static_cast<std::int64_t>(piece.size());
  EXPECT_LE(floats, all / world().size() + 4 * kLanes);
  if (world().size() > 1) {
    EXPECT_LE(spread.step.figures().memory_bytes(),
              whole.step.figures().memory_bytes() - (all - floats) * 4 + 16 * 1024);
  }
}

}  // namespace

}  // namespace quern::test
