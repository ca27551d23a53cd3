// SPDX-License-Identifier: Apache-2.0
#include "parallel/piece_sums.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "support/random_values.hpp"
#include "support/views.hpp"

namespace quern::test {

namespace {

constexpr std::int64_t kFloats = 37;
constexpr std::int64_t kStride = 48;

using Sums = std::vector<std::vector<float>>;

// Leaves added in the order of a traversal: the sums that remain, from left to right.
Sums add_up(const Sums& leaves, const BlockTree::Traversal& traversal) {
  Sums stack;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    stack.push_back(leaves[i]);
    for (int merge = traversal.merges[i]; merge > 0; --merge) {
      const std::vector<float> right = stack.back();
      stack.pop_back();
      for (std::size_t f = 0; f < right.size(); ++f) stack.back()[f] += right[f];
    }
  }
  return stack;
}

Sums part(const Sums& leaves, int first, int last) {
  return {leaves.begin() + first, leaves.begin() + last};
}

Sums random_leaves(int count) {
  Sums leaves;
  for (int i = 0; i < count; ++i)
    leaves.push_back(random_values(static_cast<std::size_t>(kFloats),
                                   static_cast<std::uint64_t>(100 + i), -1, 1));
  return leaves;
}

// What a rank hands on, piece by piece.
Sums accumulate(SumOrder order, const BatchPartition& partition, int rank, int micro_batches,
                const Sums& leaves) {
  const bool is_tree = order == SumOrder::tree;
  const int first = partition.first_block(rank);
  const BlockTree tree(is_tree ? partition.num_blocks() : std::max(1, partition.num_blocks(rank)));
  std::vector<PieceSums> pieces = cut_share(order, partition, rank, micro_batches);
  EXPECT_LE(pieces.size(), static_cast<std::size_t>(micro_batches));
  to_kernels(pieces);
  const int most = std::max(most_piece_sums(order, partition, micro_batches),
                            num_partial_sums(order, partition, rank));
  const GradientSums stack{FloatView("test::stack", static_cast<std::size_t>(most * kStride)),
                           kStride};
  Kokkos::deep_copy(stack.data, 777.0f);
  int next = 0;
  const ExecSpace exec;
  for (const PieceSums& piece : pieces) {
    EXPECT_EQ(piece.first_block, next);
    EXPECT_LE(piece.last_block - piece.first_block, piece_blocks(partition, micro_batches));
    next = piece.last_block;
    const int begin = is_tree ? first : 0;
    const Sums pushed =
        add_up(part(leaves, first + piece.first_block, first + piece.last_block),
               tree.traverse_blocks(begin + piece.first_block, begin + piece.last_block));
    EXPECT_EQ(pushed.size(), piece.added.size());
    const GradientSums target = sums_of_piece(stack, piece);
    for (std::size_t p = 0; p < pushed.size(); ++p) {
      const auto place = static_cast<std::int64_t>(p) * kStride;
      overwrite(FloatView(Kokkos::subview(target.data, std::pair(place, place + kFloats))),
                pushed[p]);
    }
    if (pieces.size() > 1) merge_sums(exec, stack, kFloats, piece);
    exec.fence("test: pieces");
  }
  EXPECT_EQ(next, partition.num_blocks(rank));
  Sums result;
  const std::vector<float> floats = to_vector(stack.data);
  for (int p = 0; p < num_partial_sums(order, partition, rank); ++p) {
    const auto begin = floats.begin() + p * kStride;
    result.emplace_back(begin, begin + kFloats);
    for (std::int64_t gap = kFloats; gap < kStride; ++gap) EXPECT_EQ(begin[gap], 777.0f);
  }
  return result;
}

}  // namespace

TEST(PieceSums, AreThePartialSumsWhateverThePieces) {
  for (const int blocks : {1, 2, 3, 5, 7, 8, 13, 16, 21, 40}) {
    const Sums leaves = random_leaves(blocks);
    for (const int ranks : {1, 2, 3, 4, 7}) {
      const BatchPartition partition(blocks, 1, ranks);
      for (int rank = 0; rank < ranks; ++rank) {
        const int first = partition.first_block(rank);
        const int last = partition.last_block(rank);
        const Sums share = part(leaves, first, last);
        const Sums tree = add_up(share, BlockTree(blocks).traverse_blocks(first, last));
        const Sums own =
            add_up(share, BlockTree(std::max(1, last - first)).traverse_blocks(0, last - first));
        for (const int micro_batches : {1, 2, 3, 4, 7, 100}) {
          SCOPED_TRACE(std::to_string(blocks) + " blocks, rank " + std::to_string(rank) + " of " +
                       std::to_string(ranks) + ", " + std::to_string(micro_batches) + " pieces");
          ASSERT_EQ(accumulate(SumOrder::tree, partition, rank, micro_batches, leaves), tree);
          ASSERT_EQ(accumulate(SumOrder::ranks, partition, rank, micro_batches, leaves), own);
        }
      }
    }
  }
}

// The order matters: otherwise the test above would show nothing.
TEST(PieceSums, AdditionOneAfterTheOtherGivesOtherBits) {
  const Sums leaves = random_leaves(16);
  std::vector<float> running = leaves[0];
  for (std::size_t i = 1; i < leaves.size(); ++i)
    for (std::size_t f = 0; f < running.size(); ++f) running[f] += leaves[i][f];
  EXPECT_NE(accumulate(SumOrder::tree, BatchPartition(16, 1, 1), 0, 16, leaves).at(0), running);
}

TEST(PieceSums, TakeRoomForTheLogarithmOfThePieces) {
  const BatchPartition partition(64, 1, 1);
  EXPECT_EQ(most_piece_sums(SumOrder::tree, partition, 1), 1);
  EXPECT_EQ(most_piece_sums(SumOrder::tree, partition, 2), 2);
  EXPECT_EQ(most_piece_sums(SumOrder::tree, partition, 64), 7);
  EXPECT_EQ(most_piece_sums(SumOrder::tree, partition, 1000), 7);
  EXPECT_EQ(piece_blocks(partition, 7), 10);
  EXPECT_EQ(cut_share(SumOrder::tree, partition, 0, 7).size(), 7u);
  EXPECT_EQ(cut_share(SumOrder::tree, BatchPartition(4, 1, 3), 2, 5).size(), 1u) << "no blocks";
}

}  // namespace quern::test
