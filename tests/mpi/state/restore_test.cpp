// SPDX-License-Identifier: Apache-2.0
// Resuming on several ranks: everybody has rank 0's state, and it takes no copies of the blocks.
#include "state/restore.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <sstream>

#include "comm/exchange.hpp"
#include "comm/serial/communicator.hpp"
#include "state/snapshot.hpp"
#include "strategy/recipe_grid.hpp"
#include "strategy/training_step.hpp"
#include "support/train_samples.hpp"
#include "support/world.hpp"

namespace quern::test {

namespace {

using quern::testing::world;

// Blocks of 8 MiB.
Recipe large_recipe(const std::string& seed) {
  return image_recipe(6, {"seed=" + seed,
                          "network.layers=[{type=\"flatten\"}, {type=\"linear\", features=1024}, "
                          "{type=\"linear\", features=1984}, {type=\"linear\", features=5}]"});
}

std::vector<std::vector<float>> blocks_of(const Model& model, const TrainingStep& step) {
  std::vector<std::vector<float>> blocks{to_vector(model.parameters())};
  for (const StateArray& array : step.state().optimizer) {
    blocks.push_back(to_vector(array.pieces.front()));
  }
  return blocks;
}

// "VmHWM", the most memory that the process has had, or "VmRSS", what it has now; in bytes.
std::int64_t memory(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(key + ":")) continue;
    std::istringstream words(line.substr(key.size() + 1));
    std::int64_t kib = 0;
    words >> kib;
    return kib << 10;
  }
  return 0;
}

// The address sanitizer keeps what was freed for a while.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kReusesFreedMemory = false;
#else
constexpr bool kReusesFreedMemory = true;
#endif

bool reset_peak() {
  std::ofstream file("/proc/self/clear_refs");
  return static_cast<bool>(file << "5" << std::flush);
}

// After a step on this rank alone.
struct Trained {
  explicit Trained(const Samples& samples) : step(recipe, alone, model, samples) {
    step.run(ExecSpace(), false);
    const ParameterTable& table = model.network().table();
    snapshot = std::make_unique<Snapshot>(ProcessGrid(alone), table, table, step.state());
  }
  /// What is handed to restore(): null on all ranks but 0.
  const CheckpointState* state() const { return world().rank() == 0 ? &snapshot->state : nullptr; }

  SerialCommunicator alone;
  Recipe recipe = large_recipe("3");
  Model model{recipe};
  TrainingStep step;
  std::unique_ptr<Snapshot> snapshot;
};

}  // namespace

TEST(Restore, EveryRankHasTheStateOfRankZeroAndNoCopies) {
  const Samples samples = image_samples(12, kImage, 5);
  const Trained trained(samples);

  const Recipe other = large_recipe("4");
  for (const bool by_messages : {false, true}) {
    SCOPED_TRACE(by_messages ? "blocks of a rank" : "blocks as the reducer has them");
    Model model(other);
    TrainingStep step(other, world(), model, samples);
    ASSERT_EQ(step.state().optimizer.size(), 2u);
    for (const std::vector<float>& block : blocks_of(model, step)) ASSERT_FALSE(block.empty());
    const CheckpointState* state = trained.state();
    // Blocks of this rank alone, as they are where the ranks are on several nodes.
    FloatView parameters("test::parameters", model.parameters().size());
    Kokkos::fence();
    world().barrier();
    const bool is_measured = kHostExecution && reset_peak();
    const std::int64_t before = memory("VmRSS");
    if (by_messages) {
      restore(ProcessGrid(world()), state, model.network().table(), model.network().table(),
              parameters);
    } else {
      const ParameterTable& table = model.network().table();
      restore(ProcessGrid(world()), state, table, table, step.state());
      step.publish_state();
    }
    const std::int64_t grown = memory("VmHWM") - before;
    const auto block_bytes = static_cast<std::int64_t>(parameters.size() * sizeof(float));
    if (is_measured) {
      EXPECT_LT(grown, block_bytes / 2) << "of " << block_bytes;
    }
    if (by_messages) {
      EXPECT_EQ(to_vector(parameters), to_vector(trained.model.parameters()));
    } else {
      EXPECT_EQ(blocks_of(model, step), blocks_of(trained.model, trained.step));
    }
    world().barrier();
  }
}

// A group of ranks has the rows of each layer. The state comes array by array.
TEST(Restore, NoRankOfASplitNetworkHoldsTwoArrays) {
  if (world().size() != 2) GTEST_SKIP() << "two ranks split the network";
  const Samples samples = image_samples(12, kImage, 5);
  const Trained trained(samples);

  Recipe other = large_recipe("4");
  other.parallel.tensor = 2;
  const ProcessGrid grid = make_grid(world(), other);
  Model model(other, stage_of(grid), slices_of(grid, other));
  TrainingStep step(other, grid, model, samples);
  const CheckpointState* state = trained.state();
  const ParameterTable& table = model.network().table();
  Kokkos::fence();
  world().barrier();
  const bool is_measured = kHostExecution && kReusesFreedMemory && reset_peak();
  const std::int64_t before = memory("VmRSS");
  restore(grid, state, model.whole().table(), table, step.state());
  const std::int64_t grown = memory("VmHWM") - before;
  const auto array_bytes = static_cast<std::int64_t>(table.block_size() * sizeof(float));
  if (is_measured) {
    EXPECT_LT(grown, 3 * array_bytes / 2) << "of " << array_bytes;
  }
}

}  // namespace quern::test
