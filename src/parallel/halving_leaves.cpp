// SPDX-License-Identifier: Apache-2.0
#include "parallel/halving_leaves.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/ceil_div.hpp"
#include "parallel/tree_sum.hpp"

namespace quern {

namespace {

int first_block(const TreeNode& node) {
  return node.index << node.level;
}

bool has_one_partial_sum_each(const BatchPartition& partition) {
  for (int rank = 0; rank < partition.num_ranks(); ++rank)
    if (num_partial_sums(SumOrder::tree, partition, rank) != 1) return false;
  return true;
}

// Of the lowest level with at most as many nodes as there are ranks.
int level_of_leaves(const BatchPartition& partition) {
  int level = 0;
  while (ceil_div(partition.num_blocks(), 1 << level) > partition.num_ranks()) ++level;
  return level;
}

// Each belongs to the rank that has most of its blocks, as far as there is one for the others.
void choose_owners(const BatchPartition& partition, std::vector<HalvingLeaf>& leaves) {
  int lowest = 0;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    HalvingLeaf& leaf = leaves[i];
    const int begin = first_block(leaf.node);
    const bool is_last = i + 1 == leaves.size();
    const int end = is_last ? partition.num_blocks() : first_block(leaves[i + 1].node);
    const auto blocks_of = [&](const PartialSum& part) {
      return std::min(end, partition.last_block(part.rank)) -
             std::max(begin, partition.first_block(part.rank));
    };
    const int highest = partition.num_ranks() - static_cast<int>(leaves.size() - i);
    const auto most = std::ranges::max_element(leaf.parts, {}, blocks_of);
    leaf.owner = std::clamp(most->rank, lowest, highest);
    lowest = leaf.owner + 1;
  }
}

// From the first of them to the others, far away first.
void feed(const std::vector<int>& ranks, std::vector<Feed>& all) {
  const std::size_t count = ranks.size();
  for (std::size_t step = std::bit_ceil(count) / 2; step >= 1; step /= 2)
    for (std::size_t i = 0; i + step < count; i += 2 * step)
      all.push_back({ranks[i], ranks[i + step]});
}

}  // namespace

std::vector<HalvingLeaf> halving_leaves(const BatchPartition& partition) {
  const int level = has_one_partial_sum_each(partition) ? 0 : level_of_leaves(partition);
  std::vector<HalvingLeaf> leaves;
  for (int rank = 0; rank < partition.num_ranks(); ++rank) {
    const std::vector<TreeNode> nodes = tree_partial_sums(partition, rank);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const int begin = first_block(nodes[i]);
      if (begin % (1 << level) == 0) {
        const bool is_above = nodes[i].level >= level;
        leaves.push_back({is_above ? nodes[i] : TreeNode{level, begin >> level}});
      }
      leaves.back().parts.push_back({rank, static_cast<int>(i)});
      leaves.back().part_nodes.push_back(nodes[i]);
    }
  }
  choose_owners(partition, leaves);
  return leaves;
}

std::vector<Feed> feeds(const std::vector<HalvingLeaf>& leaves, int num_ranks) {
  std::vector<Feed> all;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const int owner = leaves[i].owner;
    const int end = i + 1 < leaves.size() ? leaves[i + 1].owner : num_ranks;
    std::vector<int> ranks(static_cast<std::size_t>(end - owner));
    std::iota(ranks.begin(), ranks.end(), owner);
    // Those before the first owner are its own, too.
    for (int rank = 0; i == 0 && rank < owner; ++rank) ranks.push_back(rank);
    feed(ranks, all);
  }
  return all;
}

}  // namespace quern
