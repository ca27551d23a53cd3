// SPDX-License-Identifier: Apache-2.0
// Shares of a batch that change from step to step: the bits of one rank.
#include <gtest/gtest.h>

#include "strategy/rank_loads.hpp"
#include "support/expect_error.hpp"
#include "support/lone_nodes.hpp"
#include "support/train_grid.hpp"
#include "support/train_samples.hpp"
#include "support/world.hpp"

namespace quern::test {
namespace {

using quern::testing::LoneNodes;
using quern::testing::world;

// Statistics over the batch are sums of all ranks, too.
Recipe recipe_with(const std::string& optimizer) {
  return image_recipe(
      24, {"train.micro_block=2", "parallel.balance=true", "optimizer=" + optimizer,
           "network.layers=[{type=\"conv2d\", channels=3, kernel=3}, {type=\"batch_norm\"}, "
           "{type=\"relu\"}, {type=\"flatten\"}, {type=\"linear\", features=40}, "
           "{type=\"linear\", features=5}]"});
}

/// Twelve blocks for the ranks, in two ways each, with up to two partial sums.
std::vector<std::vector<int>> shares_of(int num_ranks) {
  switch (num_ranks) {
    case 2:
      return {{8, 4}, {6, 6}, {4, 8}, {10, 2}};
    case 3:
      return {{4, 6, 2}, {2, 6, 4}, {4, 4, 4}};
    case 4:
      return {{1, 3, 4, 4}, {4, 2, 2, 4}, {2, 4, 2, 4}, {3, 3, 3, 3}};
    default:
      return {};
  }
}

TEST(Balance, HasTheBitsOfOneRankWhateverTheShares) {
  const Samples samples = image_samples(24 * 3 + 10, kImage, 5);  // the last batch is short
  for (const std::string optimizer :
       {"{type=\"adam\", lr=0.01}", "{type=\"sgd\", lr=0.05, momentum=0.9, clip_norm=0.1}"}) {
    SCOPED_TRACE(optimizer);
    const Trained expected = train_alone(recipe_with(optimizer), samples, 8);
    GridTraining balanced(world(), recipe_with(optimizer), samples);
    const auto all = shares_of(world().size());
    for (std::size_t i = 0; i < 8; ++i) {
      if (!all.empty()) balanced.step.take_shares(all[i % all.size()]);
      balanced.train(1);
    }
    expect_same(balanced, expected);
    if (all.empty()) continue;
    const BatchPartition& partition = balanced.step.full_batch().partition;
    EXPECT_EQ(partition.num_blocks(0), all[7 % all.size()].front());
  }
}

// More than a period has at most, so that shares are asked for.
TEST(Balance, HasTheBitsOfOneRankOverManySteps) {
  constexpr int kSteps = 1100;
  const Samples samples = image_samples(24 * 3, kImage, 5);
  const Recipe recipe = recipe_with("{type=\"adam\", lr=0.01}");
  const Trained expected = train_alone(recipe, samples, kSteps);
  GridTraining balanced(world(), recipe, samples);
  balanced.train(kSteps);
  expect_same(balanced, expected);
}

/// In which of `steps` steps a period of about so many seconds ends.
std::vector<int> ends_of_periods(double seconds, int steps) {
  RankLoads loads(world(), seconds);
  std::vector<int> ends;
  for (int step = 1; step <= steps; ++step) {
    loads.begin_step();
    loads.end_computing();
    world().barrier();
    if (loads.has_period_ended()) ends.push_back(step);
    world().barrier();
    loads.end_step();
  }
  for (const RankLoad& load : loads.loads()) {
    EXPECT_GT(load.step, 0);
    EXPECT_LE(load.computing, load.step);
  }
  return ends;
}

TEST(RankLoads, TellsOfPeriodsAndNotOfOneThatIsTooShort) {
  EXPECT_EQ(ends_of_periods(0, 16), (std::vector<int>{6, 11, 16}));
  EXPECT_EQ(ends_of_periods(1e9, 1010), std::vector<int>{1007}) << "1000 steps at most";
}

TEST(Balance, WantsRanksOfOneNode) {
  if (world().size() == 1) return;
  const Samples samples = image_samples(24, kImage, 5);
  LoneNodes nodes(world());
  expect_error([&] { GridTraining(nodes, recipe_with("{type=\"sgd\", lr=0.05}"), samples); },
               ExitCode::bad_input, {"parallel.balance", "by messages", "expected one node"});
}

}  // namespace
}  // namespace quern::test
