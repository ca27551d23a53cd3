// SPDX-License-Identifier: Apache-2.0
// What the rounds of halving.hpp begin with: a leaf of the tree for each of some ranks, and for the
// others a rank that hands them the sum.
//
// Where every rank has one partial sum, that is its leaf. Else leaves are the nodes of one level,
// the lowest with at most as many as there are ranks, and partial sums above it. A leaf has an
// owner, which gets the partial sums below it and adds them. With three blocks for each of four
// ranks:
//
//   ranks          0         1         2         3
//   blocks         0  1  2   3  4  5   6  7  8   9 10 11
//   partial sums  (0  1)(2) (3)(4  5) (6  7)(8) (9)(10 11)
//   leaves        (0  1  2   3)(4  5   6  7)(8   9 10 11)
//   owners         0            1            3
//
// Rank 2, which owns none, is fed by rank 1. With equal shares a rank has more than half as many
// blocks as a leaf, so that few ranks have parts of one.
#pragma once

#include <vector>

#include "base/block_tree.hpp"
#include "parallel/batch_partition.hpp"

namespace quern {

/// A partial sum of a rank (tree_partial_sums), counted from 0.
struct PartialSum {
  int rank = 0;
  int number = 0;
  friend bool operator==(const PartialSum&, const PartialSum&) = default;
};

struct HalvingLeaf {
  TreeNode node;
  int owner = 0;
  std::vector<PartialSum> parts = {};     ///< from left to right
  std::vector<TreeNode> part_nodes = {};  ///< where they are in the tree

  /// Is it what the owner's kernels have written first?
  bool is_ready() const { return parts.size() == 1 && parts.front() == PartialSum{owner, 0}; }
};

/// From left to right; the owners' numbers rise. The same on all ranks.
std::vector<HalvingLeaf> halving_leaves(const BatchPartition& partition);

/// The sum goes from one rank to another one.
struct Feed {
  int from = 0;
  int to = 0;
};

/// To every rank that owns no leaf, in order: a rank is fed before it feeds others. The ranks
/// behind an owner, up to the next one, take about log2 of their number one after the other.
std::vector<Feed> feeds(const std::vector<HalvingLeaf>& leaves, int num_ranks);

}  // namespace quern
