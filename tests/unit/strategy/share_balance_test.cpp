// SPDX-License-Identifier: Apache-2.0
#include "strategy/share_balance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/error.hpp"

namespace quern {
namespace {

using Shares = std::vector<int>;

/// Cores that take `seconds[rank]` for a block; ranks wait for the slowest.
std::vector<RankLoad> loads_of(const Shares& shares, const std::vector<double>& seconds) {
  std::vector<RankLoad> loads;
  double step = 0;
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    loads.push_back({shares[rank] * seconds[rank], 0});
    step = std::max(step, loads.back().computing);
  }
  for (RankLoad& load : loads) load.step = step;
  return loads;
}

/// The shares after some periods on such cores.
Shares settled(ShareBalance& balance, const std::vector<double>& seconds) {
  for (int i = 0; i < 20; ++i) balance.update(loads_of(balance.shares(), seconds));
  return balance.shares();
}

TEST(ShareBalance, LeavesEqualCoresAlone) {
  ShareBalance balance(8, 2);
  EXPECT_EQ(balance.shares(), (Shares{4, 4}));
  EXPECT_FALSE(balance.update(loads_of({4, 4}, {1, 1})));
  EXPECT_FALSE(balance.update(loads_of({4, 4}, {1, 1.1}))) << "a block more would cost more";
  EXPECT_EQ(balance.shares(), (Shares{4, 4}));
}

TEST(ShareBalance, TakesBlocksFromSlowCores) {
  ShareBalance two(8, 2);
  EXPECT_EQ(settled(two, {1, 2}), (Shares{5, 3}));
  EXPECT_EQ(settled(two, {2, 1}), (Shares{3, 5})) << "and gives them back";
  EXPECT_EQ(settled(two, {1, 1}), (Shares{4, 4}));
  ShareBalance four(16, 4);
  const Shares shares = settled(four, {1, 1, 2, 1});
  EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), 0), 16);
  EXPECT_LT(shares[2], 4);
}

TEST(ShareBalance, KeepsWithinMemoryAndPartialSums) {
  ShareBalance balance(8, 2);
  EXPECT_EQ(balance.most_blocks(), 6);
  EXPECT_EQ(settled(balance, {1, 100}), (Shares{6, 2}));
  ShareBalance odd(16, 2);
  const Shares shares = settled(odd, {1, 1.5});
  EXPECT_NE(shares, (Shares{9, 7})) << "seven blocks are three partial sums";
  EXPECT_EQ(shares, (Shares{10, 6}));
  ShareBalance single(2, 2);
  EXPECT_EQ(settled(single, {1, 100}), (Shares{1, 1})) << "every rank keeps a block";
}

// The loads promise a gain that the clock does not see: the core is slow only while the rank asks
// much of it.
TEST(ShareBalance, TakesBackWhatDidNotHelpAndWaitsLonger) {
  ShareBalance balance(8, 2);
  const auto period = [&](double step) {
    return balance.update({{1.0 * balance.shares()[0], step}, {2.0 * balance.shares()[1], step}});
  };
  EXPECT_TRUE(period(8));
  EXPECT_EQ(balance.shares(), (Shares{5, 3}));
  EXPECT_TRUE(period(8)) << "no faster";
  EXPECT_EQ(balance.shares(), (Shares{4, 4}));
  for (const int pause : {2, 4, 8, 16, 32, 64, 64}) {
    for (int i = 0; i < pause; ++i) EXPECT_FALSE(period(8)) << pause << " " << i;
    EXPECT_TRUE(period(8)) << "after a pause of " << pause;
    EXPECT_TRUE(period(9));
    EXPECT_EQ(balance.shares(), (Shares{4, 4}));
  }
}

TEST(ShareBalance, WaitsAsAtFirstOnceAMoveHasHelped) {
  ShareBalance balance(8, 2);
  const auto period = [&](double block, double step) {
    return balance.update({{1.0 * balance.shares()[0], step}, {block * balance.shares()[1], step}});
  };
  for (const int pause : {2, 4}) {
    EXPECT_TRUE(period(2, 8));
    EXPECT_TRUE(period(2, 8)) << "no faster";
    for (int i = 0; i < pause; ++i) EXPECT_FALSE(period(2, 8)) << pause << " " << i;
  }
  EXPECT_TRUE(period(2, 8));
  EXPECT_FALSE(period(2, 6));
  EXPECT_EQ(balance.shares(), (Shares{5, 3})) << "it was faster";
  EXPECT_TRUE(period(3, 9));
  EXPECT_TRUE(period(3, 9)) << "no faster";
  EXPECT_EQ(balance.shares(), (Shares{5, 3}));
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(period(3, 9)) << i;
  EXPECT_TRUE(period(3, 9));
}

// A core that is slow only while much is asked of it looks fast after the move.
TEST(ShareBalance, DoesNotGoBackAtOnce) {
  ShareBalance balance(4, 2);
  EXPECT_TRUE(balance.update({{2, 4}, {4, 4}}));
  EXPECT_EQ(balance.shares(), (Shares{3, 1}));
  for (int i = 0; i < 15; ++i) EXPECT_FALSE(balance.update({{3, 3}, {1, 3}})) << i;
  EXPECT_TRUE(balance.update({{3, 3}, {1, 3}}));
  EXPECT_EQ(balance.shares(), (Shares{2, 2}));
}

TEST(ShareBalance, DoesNotGoBackAtOnceAfterSeveralMoves) {
  ShareBalance balance(16, 2);
  EXPECT_TRUE(balance.update({{8, 16}, {16, 16}}));
  EXPECT_EQ(balance.shares(), (Shares{10, 6}));
  EXPECT_TRUE(balance.update({{10, 15}, {15, 15}}));
  EXPECT_EQ(balance.shares(), (Shares{12, 4}));
  EXPECT_FALSE(balance.update({{12, 12}, {4, 12}}));
  EXPECT_FALSE(balance.update({{12, 12}, {4, 12}}));
}

TEST(ShareBalance, DoesNotGoBackAtOnceAfterAMoveThatFailed) {
  ShareBalance balance(16, 2);
  EXPECT_TRUE(balance.update({{8, 16}, {16, 16}}));
  EXPECT_TRUE(balance.update({{10, 15}, {15, 15}}));
  EXPECT_TRUE(balance.update({{12, 16}, {16, 16}})) << "no faster";
  EXPECT_EQ(balance.shares(), (Shares{10, 6}));
  for (int i = 0; i < 8; ++i) EXPECT_FALSE(balance.update({{10, 10}, {6, 10}})) << i;
}

TEST(ShareBalance, MovesBlocksOfShortSteps) {
  ShareBalance balance(8, 2);
  EXPECT_TRUE(balance.update(loads_of({4, 4}, {1e-5, 2e-5})));
  EXPECT_EQ(balance.shares(), (Shares{5, 3}));
}

TEST(ShareBalance, ManagesWithRanksWithoutBlocks) {
  ShareBalance balance(3, 4);
  EXPECT_EQ(settled(balance, {1, 2, 1, 1}), (Shares{1, 1, 1, 0}));
  EXPECT_THROW(balance.update({{1, 1}}), Error);
}

}  // namespace
}  // namespace quern
