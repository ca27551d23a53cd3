// SPDX-License-Identifier: Apache-2.0
#include "parallel/plain_reducer.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "mpi/parallel/leaf_gradients.hpp"
#include "support/world.hpp"

namespace quern {
namespace {

using testing::leaf_gradient;
using testing::vote_and_reduce;
using testing::world;
using testing::write_one_partial;

void expect_sum(const std::vector<float>& total, const BatchPartition& partition) {
  std::vector<double> sum(total.size(), 0.0);
  std::vector<double> magnitude(total.size(), 0.0);
  for (int block = 0; block < partition.num_blocks(); ++block) {
    const std::vector<float> leaf = leaf_gradient(static_cast<std::int64_t>(sum.size()), block);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] += leaf[i];
      magnitude[i] += std::abs(leaf[i]);
    }
  }
  for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(total[i], sum[i], 1e-5 * magnitude[i]);
}

TEST(PlainReducer, AddsAllBlocksAndVotes) {
  for (const std::int64_t num_floats : {1, 17, 1000}) {
    for (int num_blocks = 1; num_blocks <= 11; ++num_blocks) {
      const BatchPartition partition(num_blocks, 1, world().size());
      PlainReducer reducer(world(), num_floats);
      const ReductionPlan plan = reducer.add_plan(partition);
      reducer.allocate();
      // Twice: what the first reduction left behind must not count.
      for (int round = 0; round < 2; ++round) {
        write_one_partial(partition, world().rank(), reducer);
        const ReducedGradient reduced = vote_and_reduce(reducer, plan, 1.0f);
        ASSERT_EQ(reduced.total.extent(0), static_cast<std::size_t>(num_floats));
        expect_sum(test::to_vector(reduced.total), partition);
        EXPECT_EQ(test::only_value(reduced.votes), static_cast<float>(world().size()));
      }
    }
  }
}

// To the owners and to everybody; where each rank updates a part, the parameters come as well.
TEST(PlainReducer, SaysWhatIsSent) {
  constexpr std::int64_t kSums = 2;
  constexpr std::int64_t kFloats = 1200 + kSums;
  const std::int64_t ranks = world().size();
  const BatchPartition partition(world().size(), 1, world().size());
  for (const bool are_owners : {false, true}) {
    PlainReducer reducer(world(), kFloats, kSums, {.are_owners = are_owners});
    const ReductionPlan plan = reducer.add_plan(partition);
    reducer.allocate();
    const std::int64_t parameters = are_owners ? 1200 : 0;
    EXPECT_EQ(reducer.floats_sent(plan), (2 * kFloats + parameters) * (ranks - 1) / ranks);
  }
}

}  // namespace
}  // namespace quern
