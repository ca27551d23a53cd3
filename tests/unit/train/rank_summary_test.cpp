// SPDX-License-Identifier: Apache-2.0
#include "train/rank_summary.hpp"

#include <gtest/gtest.h>

namespace quern::test {

TEST(RankSummary, OfOddAndEvenNumbersOfRanks) {
  RankSummary of = summarize_ranks({3, 1, 8});
  EXPECT_EQ(of.min, 1);
  EXPECT_EQ(of.median, 3);
  EXPECT_EQ(of.mean, 4);
  EXPECT_EQ(of.max, 8);
  EXPECT_EQ(of.rank_of_min, 1);
  EXPECT_EQ(of.rank_of_max, 2);
  of = summarize_ranks({7, 1, 9, 2});
  EXPECT_EQ(of.median, 4.5);
  of = summarize_ranks({5});
  EXPECT_EQ(of.median, 5);
  EXPECT_EQ(of.rank_of_max, 0);
}

TEST(RankSummary, NamesTheFirstOfSeveral) {
  const RankSummary of = summarize_ranks({2, 1, 2, 1});
  EXPECT_EQ(of.rank_of_min, 1);
  EXPECT_EQ(of.rank_of_max, 0);
}

// The rank with the most work need not be the one with the most of any phase.
TEST(RankSummary, WorkIsAllButWaitingAndOther) {
  const RankSummaries all = summarize_rank_times({{"forward", {4, 3, 1}},
                                                  {"waiting", {0, 0, 9}},
                                                  {"update", {1, 3, 4}},
                                                  {"other", {9, 0, 0}}});
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[2].first, "update");
  EXPECT_EQ(all[2].second.rank_of_max, 2);
  EXPECT_EQ(all[4].first, kWork);
  EXPECT_EQ(all[4].second.max, 6);
  EXPECT_EQ(all[4].second.rank_of_max, 1);
  EXPECT_TRUE(summarize_rank_times({}).empty());
}

}  // namespace quern::test
