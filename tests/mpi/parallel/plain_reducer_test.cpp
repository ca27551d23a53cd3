// SPDX-License-Identifier: Apache-2.0
#include "parallel/plain_reducer.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "mpi/parallel/leaf_gradients.hpp"
#include "support/world.hpp"

namespace quern {
namespace {

using testing::leaf_gradient;
using testing::leaf_gradients;
using testing::make_partials;
using testing::world;

// One partial: the schedule of the rank's own blocks alone.
GradientPartials own_partial(const BatchPartition& partition, const PlainReducer& reducer) {
  const int first = partition.first_block(world().rank());
  const int last = partition.last_block(world().rank());
  if (first == last) return {FloatView(), reducer.partial_stride()};
  return make_partials(leaf_gradients(reducer.num_floats(), first, last),
                       BlockTree(last - first).walk_blocks(0, last - first),
                       reducer.partial_stride());
}

void expect_sum(const FloatView& total, const BatchPartition& partition) {
  std::vector<double> sum(total.extent(0), 0.0);
  std::vector<double> magnitude(total.extent(0), 0.0);
  for (int block = 0; block < partition.num_blocks(); ++block) {
    const std::vector<float> leaf = leaf_gradient(static_cast<std::int64_t>(sum.size()), block);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] += leaf[i];
      magnitude[i] += std::abs(leaf[i]);
    }
  }
  for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(total(i), sum[i], 1e-5 * magnitude[i]);
}

TEST(PlainReducer, AddsAllBlocksAndVotes) {
  for (const std::int64_t num_floats : {1, 17, 1000}) {
    for (int num_blocks = 1; num_blocks <= 11; ++num_blocks) {
      const BatchPartition partition(num_blocks, 1, world().size());
      PlainReducer reducer(world(), num_floats);
      const ReductionPlan plan = reducer.add_plan(partition);
      // Twice: what the first reduction left behind must not count.
      for (int round = 0; round < 2; ++round) {
        const GradientPartials partials = own_partial(partition, reducer);
        const ReducedGradient reduced = reducer.reduce(ExecSpace(), plan, partials, 1.0f);
        ASSERT_EQ(reduced.total.extent(0), static_cast<std::size_t>(num_floats));
        expect_sum(reduced.total, partition);
        EXPECT_EQ(reduced.votes, static_cast<float>(world().size()));
      }
    }
  }
}

TEST(PlainReducer, RefusesPartialsThatDoNotFit) {
  const BatchPartition partition(world().size(), 1, world().size());
  PlainReducer reducer(world(), 32);
  const ReductionPlan plan = reducer.add_plan(partition);
  EXPECT_THROW(reducer.reduce(ExecSpace(), plan, {FloatView("partial", 32), 32}, 0.0f), Error);
}

}  // namespace
}  // namespace quern
