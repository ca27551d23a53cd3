// SPDX-License-Identifier: Apache-2.0
// The reduced gradient has the bits of the tree's definition, however many ranks computed it.
#include "parallel/tree_reducer.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "base/error.hpp"
#include "mpi/parallel/leaf_gradients.hpp"
#include "parallel/reference/tree_sum.hpp"
#include "support/world.hpp"

namespace quern {
namespace {

using testing::leaf_gradients;
using testing::vote_and_reduce;
using testing::world;
using testing::write_tree_partial_sums;

ReducedGradient write_and_reduce(TreeReducer& reducer, ReductionPlan plan,
                                 const BatchPartition& partition, float vote) {
  write_tree_partial_sums(partition, world().rank(), reducer);
  return vote_and_reduce(reducer, plan, vote);
}

std::vector<float> expected_total(const BatchPartition& partition, std::int64_t num_floats) {
  return reference::tree_sum(leaf_gradients(num_floats, 0, partition.num_blocks()));
}

void expect_bits(const ConstFloatView& total, const std::vector<float>& expected,
                 const std::string& what) {
  const std::vector<float> actual = test::to_vector(total);
  ASSERT_EQ(actual.size(), expected.size());
  EXPECT_EQ(std::memcmp(actual.data(), expected.data(), expected.size() * sizeof(float)), 0)
      << what;
}

TEST(TreeReducer, HasTheBitsOfTheTree) {
  for (const std::int64_t num_floats : {1, 3, 17, 1000, 4099}) {
    for (int num_blocks = 1; num_blocks <= 40; num_blocks += num_floats > 1000 ? 13 : 1) {
      const BatchPartition partition(num_blocks * 4 - 1, 4, world().size());
      TreeReducer reducer(world(), num_floats);
      const ReductionPlan plan = reducer.add_plan(partition);
      reducer.allocate();
      const ReducedGradient reduced = write_and_reduce(reducer, plan, partition, 0.0f);
      expect_bits(
          reduced.total, expected_total(partition, num_floats),
          std::to_string(num_blocks) + " blocks, " + std::to_string(num_floats) + " floats");
      EXPECT_EQ(test::only_value(reduced.votes), 0.0f);
    }
  }
}

TEST(TreeReducer, CountsTheVotesOfAllRanksAlsoWithoutBlocks) {
  for (const std::int64_t num_floats : {1, 16, 40, 1000}) {
    for (const int num_blocks : {1, 2, 3, 5, 12, 13}) {
      const BatchPartition partition(num_blocks, 1, world().size());
      TreeReducer reducer(world(), num_floats);
      const ReductionPlan plan = reducer.add_plan(partition);
      reducer.allocate();
      for (int voters = 0; voters <= world().size(); ++voters) {
        const float vote = world().size() - world().rank() <= voters ? 1.0f : 0.0f;
        const ReducedGradient reduced = write_and_reduce(reducer, plan, partition, vote);
        EXPECT_EQ(test::only_value(reduced.votes), static_cast<float>(voters))
            << num_blocks << " blocks";
        expect_bits(reduced.total, expected_total(partition, num_floats), "beside votes");
      }
    }
  }
}

TEST(TreeReducer, TakesTurnsBetweenFullAndShortBatches) {
  const std::int64_t num_floats = 333;
  const BatchPartition full(64, 3, world().size());
  const BatchPartition last(7, 3, world().size());
  TreeReducer reducer(world(), num_floats);
  const ReductionPlan full_plan = reducer.add_plan(full);
  const ReductionPlan last_plan = reducer.add_plan(last);
  reducer.allocate();
  for (int round = 0; round < 3; ++round) {
    expect_bits(write_and_reduce(reducer, full_plan, full, 0).total,
                expected_total(full, num_floats), "full");
    expect_bits(write_and_reduce(reducer, last_plan, last, 0).total,
                expected_total(last, num_floats), "last");
  }
}

// The way is chosen by messages and floats: with these, four ranks and more halve.
TEST(TreeReducer, SaysWhatIsSent) {
  const std::int64_t num_floats = 4096 * 3 - 1;  // and the vote
  const int ranks = world().size();
  TreeReducer reducer(world(), num_floats);
  const ReductionPlan one = reducer.add_plan(BatchPartition(ranks, 1, ranks));
  const ReductionPlan several = reducer.add_plan(BatchPartition(3 * ranks, 1, ranks));
  reducer.allocate();
  EXPECT_EQ(reducer.describe().ends_with(" ranks, by halving"), ranks >= 4);
  if (ranks == 4 || ranks == 8) {
    EXPECT_EQ(reducer.floats_sent(one), 2 * (num_floats + 1) * (ranks - 1) / ranks);
  }
  if (ranks == 2) {
    EXPECT_EQ(reducer.floats_sent(one), num_floats);
    EXPECT_EQ(reducer.floats_sent(several), 3 * num_floats / 2);
  }
  if (ranks == 1) {
    EXPECT_EQ(reducer.floats_sent(one), 0);
  }
}

TEST(TreeReducer, CopiesNothingWhenAlone) {
  if (world().size() > 1) GTEST_SKIP() << "one rank only";
  const BatchPartition partition(5, 1, 1);
  TreeReducer reducer(world(), 100);
  const ReductionPlan plan = reducer.add_plan(partition);
  reducer.allocate();
  EXPECT_EQ(reducer.num_partial_sums(partition, 0), 1);
  EXPECT_EQ(write_and_reduce(reducer, plan, partition, 1.0f).total.data(),
            reducer.partial_sums().data.data());
}

// A wrong order must not slip through: rank by rank is not the order of the tree.
TEST(TreeReducer, RankOrderWouldBeSeen) {
  const BatchPartition partition(7, 1, world().size());
  std::vector<float> naive(1000, 0.0f);
  for (const std::vector<float>& leaf : leaf_gradients(1000, 0, 7)) {
    for (std::size_t i = 0; i < naive.size(); ++i) naive[i] += leaf[i];
  }
  EXPECT_NE(naive, expected_total(partition, 1000));
}

TEST(TreeReducer, RefusesPlansThatComeWrong) {
  TreeReducer reducer(world(), 32);
  EXPECT_THROW(reducer.add_plan(BatchPartition(8, 1, world().size() + 1)), Error);
  reducer.add_plan(BatchPartition(8, 1, world().size()));
  reducer.allocate();
  EXPECT_THROW(reducer.add_plan(BatchPartition(4, 1, world().size())), Error);
  EXPECT_THROW(reducer.allocate(), Error);
}

}  // namespace
}  // namespace quern
