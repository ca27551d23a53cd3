// SPDX-License-Identifier: Apache-2.0
// The upper part of the fixed summation tree: adding the partials of all ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/block_tree.hpp"
#include "linalg/block_schedule.hpp"
#include "parallel/batch_partition.hpp"
#include "parallel/gradient_slices.hpp"
#include "parallel/sum_order.hpp"
#include "tensor/types.hpp"

namespace quern {

/// The maximal subtrees inside a rank's blocks: what its kernels hand on. Empty without blocks.
std::vector<TreeNode> tree_partials(const BatchPartition& partition, int rank);

/// The leaves of the sum, from left to right, and when to add (BlockTree::walk_nodes).
struct TreeSumPlan {
  int num_leaves = 0;
  /// Where a leaf begins: at or above 0 an offset in the received floats, below 0 the complement
  /// (~offset) of an offset in this rank's own partials.
  View<const std::int64_t> leaves;
  View<const int> merges;
};

/// `walk` over as many nodes as there are leaves.
TreeSumPlan make_tree_sum_plan(const std::vector<std::int64_t>& leaves,
                               const BlockTree::Walk& walk);

/// Partials that a rank hands over under a partition: its tree_partials(), or in the order of ranks
/// one; 0 without blocks.
int num_partials(SumOrder order, const BatchPartition& partition, int rank);

/// The sum of all ranks' partials, rank after rank. `leaf_of(rank, partial)`: where each begins, as
/// in TreeSumPlan::leaves.
TreeSumPlan make_tree_sum_plan(
    SumOrder order, const BatchPartition& partition,
    const std::function<std::int64_t(int rank, std::int64_t partial)>& leaf_of);

/// Overwrites sum[0, count) with the sum of the leaves' floats [leaf, leaf + count), elementwise,
/// in the order of the tree. `received` and `own` must not overlap `sum`.
void tree_sum(const ExecSpace& exec, const TreeSumPlan& plan, const ConstFloatView& received,
              const ConstFloatView& own, const FloatView& sum, std::int64_t count);

/// Overwrites `packed` with the partials in the order in which the owners of the slices get them:
/// slice d of every partial, one behind the other, from num_partials * slices.begin(d) on. The part
/// of slice `own`, which stays here, is left as it is.
void pack_slices(const ExecSpace& exec, const GradientPartials& partials, int num_partials,
                 const GradientSlices& slices, int own, const FloatView& packed);

}  // namespace quern
