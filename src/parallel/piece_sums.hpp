// SPDX-License-Identifier: Apache-2.0
// Gradient accumulation: a rank's blocks worked off in pieces, with the sums of the fixed tree.
//
// The partial sums of a piece are the maximal subtrees inside its blocks. They are pushed on a
// stack that lies where the rank's partial sums are to be, and siblings are added as soon as both
// are there: the additions of the tree, in the tree's order, so that the bits do not depend on the
// pieces. After the last piece the stack is what the rank hands on.
#pragma once

#include <vector>

#include "linalg/block_schedule.hpp"
#include "parallel/batch_partition.hpp"
#include "parallel/tree_sum.hpp"

namespace quern {

/// What one piece does to the stack of sums.
struct PieceSums {
  int first_block = 0;  ///< of the rank's blocks: the piece has those of [first, last)
  int last_block = 0;
  int below = 0;           ///< sums on the stack before the piece; its kernels write above them
  std::vector<int> added;  ///< BlockTree::Traversal::merges of the piece's partial sums
  View<const int> merges;  ///< the same, for kernels; empty until to_kernels()
};

/// Most blocks of a piece when every share is cut into at most `micro_batches` pieces.
int piece_blocks(const BatchPartition& partition, int micro_batches);

/// The pieces of a rank's share, from left to right: fewer than `micro_batches` where it has fewer
/// blocks, one without blocks where it has none.
std::vector<PieceSums> cut_share(SumOrder order, const BatchPartition& partition, int rank,
                                 int micro_batches);

/// Sums that are on the stack at once, on the rank with most: what GradientReducer::reserve() is
/// told. 1 where every share is a single piece.
int most_piece_sums(SumOrder order, const BatchPartition& partition, int micro_batches);

/// Copies what kernels need to where they read it. Before the loop.
void to_kernels(std::vector<PieceSums>& pieces);

/// Where the kernels of a piece write their partial sums.
GradientSums sums_of_piece(const GradientSums& stack, const PieceSums& piece);

/// Adds what the piece has pushed, floats [0, num_floats) of each sum, as far as the tree goes.
void merge_sums(const ExecSpace& exec, const GradientSums& stack, std::int64_t num_floats,
                const PieceSums& piece);

}  // namespace quern
