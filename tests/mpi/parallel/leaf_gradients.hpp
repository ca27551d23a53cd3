// SPDX-License-Identifier: Apache-2.0
// Synthetic block gradients that every rank can compute for any block.
#pragma once

#include <algorithm>
#include <vector>

#include "base/block_tree.hpp"
#include "parallel/gradient_reducer.hpp"
#include "support/leaf_values.hpp"
#include "support/views.hpp"

namespace quern::testing {

/// What a rank's kernels hand on: the traversal of its own leaves, as in BlockSchedule. Floats
/// after and between the partial sums become junk.
inline void write_partial_sums(const std::vector<std::vector<float>>& leaves,
                               const BlockTree::Traversal& traversal,
                               const GradientSums& partial_sums) {
  std::vector<std::vector<float>> stack;
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    stack.push_back(leaves[leaf]);
    for (int merge = 0; merge < traversal.merges[leaf]; ++merge) {
      const std::vector<float> right = stack.back();
      stack.pop_back();
      for (std::size_t i = 0; i < right.size(); ++i) stack.back()[i] += right[i];
    }
  }
  std::vector<float> floats(partial_sums.data.extent(0), -123.0f);
  for (std::size_t p = 0; p < stack.size(); ++p) {
    std::copy(stack[p].begin(), stack[p].end(),
              floats.data() + p * static_cast<std::size_t>(partial_sums.stride));
  }
  test::overwrite(partial_sums.data, floats);
}

/// The gradient of a rank's blocks under a partition, for SumOrder::tree ...
inline void write_tree_partial_sums(const BatchPartition& partition, int rank,
                                    const GradientReducer& reducer) {
  const int first = partition.first_block(rank);
  const int last = partition.last_block(rank);
  write_partial_sums(leaf_gradients(reducer.num_floats(), first, last),
                     BlockTree(partition.num_blocks()).traverse_blocks(first, last),
                     reducer.partial_sums());
}

/// ... and in one partial sum: the schedule of the rank's own blocks alone.
inline void write_one_partial(const BatchPartition& partition, int rank,
                              const GradientReducer& reducer) {
  const int first = partition.first_block(rank);
  const int last = partition.last_block(rank);
  const BlockTree::Traversal traversal =
      first == last ? BlockTree::Traversal{}
                    : BlockTree(last - first).traverse_blocks(0, last - first);
  write_partial_sums(leaf_gradients(reducer.num_floats(), first, last), traversal,
                     reducer.partial_sums());
}

/// One of the two, as the reducer's order wants it.
inline void write_sums(SumOrder order, const BatchPartition& partition, int rank,
                       const GradientReducer& reducer) {
  if (order == SumOrder::tree)
    write_tree_partial_sums(partition, rank, reducer);
  else
    write_one_partial(partition, rank, reducer);
}

/// Puts the vote where kernels put it, and reduces.
inline ReducedGradient vote_and_reduce(GradientReducer& reducer, ReductionPlan plan, float vote) {
  Kokkos::deep_copy(reducer.vote(), vote);
  reducer.complete_from(ExecSpace(), plan, reducer.num_gradient());
  return reducer.reduce(ExecSpace(), plan);
}

}  // namespace quern::testing
