// SPDX-License-Identifier: Apache-2.0
// The upper part of the fixed summation tree: adding the partial sums of all ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/block_tree.hpp"
#include "linalg/block_schedule.hpp"
#include "parallel/batch_partition.hpp"
#include "parallel/gradient_slices.hpp"
#include "tensor/parameter_update.hpp"
#include "tensor/types.hpp"

namespace quern {

enum class SumOrder {
  tree,   ///< the fixed tree over micro-blocks: the same bits for any number of ranks
  ranks,  ///< rank after rank, one partial sum each
};

/// The maximal subtrees inside a rank's blocks: what its kernels hand on. Empty without blocks.
std::vector<TreeNode> tree_partial_sums(const BatchPartition& partition, int rank);

/// The leaves of the sum, from left to right, and when to add (BlockTree::traverse_nodes).
struct TreeSumPlan {
  int num_leaves = 0;
  /// Where a leaf begins: at or above 0 an offset in the received floats, below 0 the complement
  /// (~offset) of an offset in this rank's own partial sums.
  View<const std::int64_t> leaves;
  View<const int> merges;
};

/// `traversal` over as many nodes as there are leaves.
TreeSumPlan make_tree_sum_plan(const std::vector<std::int64_t>& leaves,
                               const BlockTree::Traversal& traversal);

/// Partial sums that a rank hands over under a partition: its tree_partial_sums(), or in the order
/// of ranks one; 0 without blocks.
int num_partial_sums(SumOrder order, const BatchPartition& partition, int rank);

/// The sum of all ranks' partial sums, rank after rank. `leaf_of(rank, partial sum)`: where each
/// begins, as in TreeSumPlan::leaves.
TreeSumPlan make_tree_sum_plan(
    SumOrder order, const BatchPartition& partition,
    const std::function<std::int64_t(int rank, std::int64_t partial)>& leaf_of);

/// Overwrites sum[0, count) with the sum of the leaves' floats [leaf, leaf + count), elementwise,
/// in the order of the tree. `received` and `own` must not overlap `sum`, but for a leaf that is
/// `sum` itself.
void tree_sum(const ExecSpace& exec, const TreeSumPlan& plan, const ConstFloatView& received,
              const ConstFloatView& own, const FloatView& sum, std::int64_t count);

namespace host {
/// The same sum, stored nowhere: each piece goes to the update while it is in the L1, of the
/// parameters [begin, begin + count) of the block. `begin` is a multiple of kLanes, all leaves lie
/// in `received`.
void tree_sum_update(const ExecSpace& exec, const TreeSumPlan& plan, const ConstFloatView& received,
                     std::int64_t begin, std::int64_t count, const ParameterUpdate& update);
}  // namespace host

/// Accumulates `more` into `sum`, which has as many floats and does not overlap it.
void add_to(const ExecSpace& exec, const FloatView& sum, const ConstFloatView& more);

/// Overwrites `packed` with the partial sums in the order in which the owners of the slices get
/// them: slice d of every partial sum, one after the other, from num_partial_sums * slices.begin(d)
/// on. The part of slice `own`, which stays here, is left as it is.
void pack_slices(const ExecSpace& exec, const GradientSums& partial_sums, int num_partial_sums,
                 const GradientSlices& slices, int own, const FloatView& packed);

}  // namespace quern
