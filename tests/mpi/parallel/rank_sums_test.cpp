// SPDX-License-Identifier: Apache-2.0
// Sums in the middle of a pass have the bits of the tree, whichever reducer forms them.
#include "parallel/rank_sums.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "mpi/parallel/leaf_gradients.hpp"
#include "parallel/make_reducer.hpp"
#include "parallel/reference/tree_sum.hpp"
#include "support/world.hpp"

namespace quern {
namespace {

using testing::leaf_gradient;
using testing::world;

// Other numbers in every round.
std::vector<std::vector<float>> leaves_of(std::int64_t count, int first, int last, int round) {
  std::vector<std::vector<float>> leaves;
  for (int block = first; block < last; ++block)
    leaves.push_back(leaf_gradient(count, 100 * round + block));
  return leaves;
}

void write_partial_sums(RankSums& sums, const BatchPartition& partition, std::int64_t count,
                        int round) {
  const int first = partition.first_block(world().rank());
  const int last = partition.last_block(world().rank());
  const BlockTree::Traversal traversal =
      BlockTree(partition.num_blocks()).traverse_blocks(first, last);
  std::vector<std::vector<float>> stack;
  // Adds on the stack as the traversal says, then hands on what remains.
  const auto leaves = leaves_of(count, first, last, round);
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    stack.push_back(leaves[leaf]);
    for (int merge = 0; merge < traversal.merges[leaf]; ++merge) {
      const std::vector<float> right = stack.back();
      stack.pop_back();
      for (std::size_t i = 0; i < right.size(); ++i) stack.back()[i] += right[i];
    }
  }
  const GradientSums partial = sums.partial_sums(count);
  for (std::size_t p = 0; p < stack.size(); ++p) {
    const auto begin = static_cast<std::int64_t>(p) * partial.stride;
    test::overwrite(FloatView(Kokkos::subview(partial.data, std::pair(begin, begin + count))),
                    stack[p]);
  }
}

// Many rounds without a pause: ranks that are ahead must not overwrite what others still read.
void check(RankSums& sums, const std::vector<BatchPartition>& partitions) {
  std::vector<ReductionPlan> plans;
  for (const BatchPartition& partition : partitions) plans.push_back(sums.add_plan(partition));
  sums.allocate();
  EXPECT_EQ(sums.owns_first_block(), world().rank() == 0);
  int round = 0;
  for (std::size_t i = 0; i < partitions.size(); ++i) {
    sums.begin_batch(plans[i]);
    const int num_blocks = partitions[i].num_blocks();
    for (int repeat = 0; repeat < 9; ++repeat)
      for (const std::int64_t count : {48, 16, 48}) {
        write_partial_sums(sums, partitions[i], count, ++round);
        const ConstFloatView total = sums.add(ExecSpace(), count);
        const std::vector<float> actual = test::to_vector(total);
        EXPECT_EQ(actual, reference::tree_sum(leaves_of(count, 0, num_blocks, round)))
            << "round " << round << ", " << count << " floats";
      }
  }
}

std::vector<BatchPartition> partitions() {
  std::vector<BatchPartition> list;
  for (const int num_blocks : {1, 2, 3, 5, 12, 13})
    list.emplace_back(num_blocks, 1, world().size());
  return list;
}

const std::vector<std::int64_t> kCounts = {48, 16, 16, 48};

TEST(RankSums, HaveTheBitsOfTheTree) {
  RankSums sums(world(), nullptr, kCounts, SumOrder::tree);
  check(sums, partitions());
}

TEST(RankSums, HaveTheBitsOfTheTreeByMessages) {
  RankSums sums(world(), kCounts, [](std::int64_t num_floats, std::int64_t num_sums) {
    return make_message_reducer(world(), num_floats, SumOrder::tree, num_sums);
  });
  check(sums, partitions());
}

TEST(RankSums, NumberTheirPlansAsTheReducerOfTheGradients) {
  for (const std::vector<std::int64_t>& counts : {std::vector<std::int64_t>{}, kCounts}) {
    RankSums sums(world(), nullptr, counts, SumOrder::tree);
    const auto reducer = make_reducer(world(), nullptr, 64, SumOrder::tree);
    for (const BatchPartition& partition : partitions())
      EXPECT_EQ(sums.add_plan(partition), reducer->add_plan(partition));
  }
}

TEST(RankSums, RefuseASizeThatNobodyAnnounced) {
  RankSums sums(world(), nullptr, {16}, SumOrder::tree);
  EXPECT_THROW(sums.partial_sums(32), Error);
}

}  // namespace
}  // namespace quern
