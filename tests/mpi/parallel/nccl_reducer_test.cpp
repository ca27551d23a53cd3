// SPDX-License-Identifier: Apache-2.0
// Gradients through comm/nccl and a stand-in for NCCL: what moves by its calls has the bits of the
// tree.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>

#include "comm/nccl/transport.hpp"
#include "mpi/parallel/leaf_gradients.hpp"
#include "parallel/bucket_reducer.hpp"
#include "parallel/reference/tree_sum.hpp"
#include "support/lone_nodes.hpp"
#include "support/world.hpp"

namespace quern {
namespace {

using testing::leaf_gradients;
using testing::vote_and_reduce;
using testing::world;
using testing::write_tree_partial_sums;

void expect_tree_sums_of(Communicator& ranks) {
  const auto transport = start_nccl(world(), std::chrono::seconds(60));
  for (const std::int64_t num_floats : {3, 1000}) {
    for (const int num_blocks : {1, 2, 3, 5, 8, 13, 31}) {
      const BatchPartition partition(num_blocks, 1, world().size());
      BucketReducer reducer(ranks, *transport, num_floats, SumOrder::tree, 2, 256);
      const ReductionPlan plan = reducer.add_plan(partition);
      reducer.allocate();
      const auto expected = reference::tree_sum(leaf_gradients(num_floats, 0, num_blocks));
      for (int round = 0; round < 2; ++round) {
        write_tree_partial_sums(partition, world().rank(), reducer);
        const ReducedGradient reduced = vote_and_reduce(reducer, plan, 1.0f);
        reducer.wait(ExecSpace());
        std::vector<float> actual = test::to_vector(reduced.total);
        const std::vector<float> sums = test::to_vector(reduced.sums);
        actual.insert(actual.end(), sums.begin(), sums.end());
        ASSERT_EQ(actual.size(), expected.size());
        EXPECT_EQ(std::memcmp(actual.data(), expected.data(), actual.size() * sizeof(float)), 0)
            << num_blocks << " blocks, " << num_floats << " floats";
        EXPECT_EQ(test::only_value(reduced.votes), static_cast<float>(world().size()));
      }
    }
  }
}

TEST(NcclReducer, HasTheBitsOfTheTree) {
  expect_tree_sums_of(world());
}

TEST(NcclReducer, HasTheBitsOfTheTreeBetweenNodes) {
  testing::LoneNodes nodes(world());
  expect_tree_sums_of(nodes);
}

}  // namespace
}  // namespace quern
