// SPDX-License-Identifier: Apache-2.0
#include "parallel/tree_sum.hpp"

#include <string>

#include "base/assert.hpp"
#include "base/ceil_div.hpp"
#include "parallel/tree_sum_tile.hpp"
#include "tensor/host_values.hpp"
#include "tensor/parallel_for.hpp"

namespace quern {

namespace {

// Floats that one work item copies: slices are whole groups of lanes.
constexpr int kPackTile = kHostExecution ? kLanes : 1;

}  // namespace

std::vector<TreeNode> tree_partial_sums(const BatchPartition& partition, int rank) {
  const BlockTree tree(partition.num_blocks());
  return tree.traverse_blocks(partition.first_block(rank), partition.last_block(rank)).roots;
}

TreeSumPlan make_tree_sum_plan(const std::vector<std::int64_t>& leaves,
                               const BlockTree::Traversal& traversal) {
  expect(traversal.merges.size() == leaves.size(), "one leaf for each node of the traversal");
  expect(traversal.roots.size() == 1, "nodes that cover the whole tree");
  expect(traversal.depth <= BlockSchedule::kMaxDepth,
         "a summation tree of at most 2^20 - 1 blocks");
  return {static_cast<int>(leaves.size()),
          copy_to_kernels<std::int64_t>("quern::parallel::leaves", leaves),
          copy_to_kernels<int>("quern::parallel::merges", traversal.merges)};
}

namespace {

// ((a + b) + c) + d
BlockTree::Traversal one_after_another(std::size_t num_leaves) {
  BlockTree::Traversal traversal;
  traversal.merges.assign(num_leaves, 1);
  traversal.merges.front() = 0;
  traversal.roots.resize(1);
  traversal.depth = 2;
  return traversal;
}

}  // namespace

int num_partial_sums(SumOrder order, const BatchPartition& partition, int rank) {
  if (order == SumOrder::ranks) return partition.num_blocks(rank) > 0 ? 1 : 0;
  return static_cast<int>(tree_partial_sums(partition, rank).size());
}

TreeSumPlan make_tree_sum_plan(
    SumOrder order, const BatchPartition& partition,
    const std::function<std::int64_t(int rank, std::int64_t partial)>& leaf_of) {
  std::vector<TreeNode> nodes;
  std::vector<std::int64_t> leaves;
  for (int rank = 0; rank < partition.num_ranks(); ++rank) {
    const int count = num_partial_sums(order, partition, rank);
    for (int partial = 0; partial < count; ++partial) leaves.push_back(leaf_of(rank, partial));
    const std::vector<TreeNode> partial_sums = tree_partial_sums(partition, rank);
    nodes.insert(nodes.end(), partial_sums.begin(), partial_sums.end());
  }
  return make_tree_sum_plan(leaves, order == SumOrder::tree
                                        ? BlockTree(partition.num_blocks()).traverse_nodes(nodes)
                                        : one_after_another(leaves.size()));
}

void tree_sum(const ExecSpace& exec, const TreeSumPlan& plan, const ConstFloatView& received,
              const ConstFloatView& own, const FloatView& sum, std::int64_t count) {
  if (count == 0) return;
  const std::int64_t num_tiles = ceil_div(count, kSumTile);
  quern::parallel_for(
      "quern::parallel::tree_sum", RangePolicy(exec, 0, num_tiles),
      KOKKOS_LAMBDA(const std::int64_t tile) {
        const std::int64_t begin = tile * kSumTile;
        sum_tile(plan, received.data(), own.data(), begin, count - begin, sum.data() + begin);
      });
}

void add_to(const ExecSpace& exec, const FloatView& sum, const ConstFloatView& more) {
  const auto count = static_cast<std::int64_t>(sum.extent(0));
  const std::int64_t num_tiles = ceil_div(count, kSumTile);
  quern::parallel_for(
      "quern::parallel::add_to", RangePolicy(exec, 0, num_tiles),
      KOKKOS_LAMBDA(const std::int64_t tile) {
        const std::int64_t end = Kokkos::min((tile + 1) * kSumTile, count);
        for (std::int64_t i = tile * kSumTile; i < end; ++i) sum(i) += more(i);
      });
}

void pack_slices(const ExecSpace& exec, const GradientSums& partial_sums, int num_partial_sums,
                 const GradientSlices& slices, int own, const FloatView& packed) {
  const std::int64_t num_floats = slices.num_floats();
  const std::int64_t slice_size = slices.slice_size();  // whole tiles: none lies in two slices
  const std::int64_t num_tiles = ceil_div(num_floats, kPackTile);
  quern::parallel_for(
      "quern::parallel::pack_slices", RangePolicy(exec, 0, num_partial_sums * num_tiles),
      KOKKOS_LAMBDA(const std::int64_t i) {
        const std::int64_t partial = i / num_tiles;
        const std::int64_t begin = i % num_tiles * kPackTile;
        const std::int64_t slice = begin / slice_size;
        if (slice == own) return;
        const std::int64_t slice_begin = slice * slice_size;
        const std::int64_t count = Kokkos::min(slice_size, num_floats - slice_begin);
        const float* from = partial_sums.data.data() + partial * partial_sums.stride + begin;
        float* to = packed.data() + num_partial_sums * slice_begin + partial * count +
                    (begin - slice_begin);
        const std::int64_t width = Kokkos::min<std::int64_t>(kPackTile, num_floats - begin);
        for (std::int64_t j = 0; j < width; ++j) to[j] = from[j];
      });
}

}  // namespace quern
