// SPDX-License-Identifier: Apache-2.0
#include "base/block_tree.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace quern {

namespace {

// The parent of a node whose right sibling lies beyond the last block is that node itself, so the
// node is known by its highest name; only names of equal level are ever compared.
TreeNode highest_name(TreeNode node, int num_blocks) {
  const auto sibling_begin = [&] { return (static_cast<long long>(node.index) + 1) << node.level; };
  while (node.index > 0 && node.index % 2 == 0 && sibling_begin() >= num_blocks) {
    node = {node.level + 1, node.index / 2};
  }
  return node;
}

}  // namespace

BlockTree::BlockTree(int num_blocks) : num_blocks_(num_blocks) {
  expect(num_blocks >= 1, "at least one block");
}

BlockTree::Traversal BlockTree::traverse_blocks(int first, int last) const {
  std::vector<TreeNode> leaves;
  for (int block = first; block < last; ++block) leaves.push_back({0, block});
  return traverse_nodes(leaves);
}

BlockTree::Traversal BlockTree::traverse_nodes(const std::vector<TreeNode>& nodes) const {
  Traversal traversal;
  std::vector<TreeNode>& stack = traversal.roots;
  for (const TreeNode& node : nodes) {
    stack.push_back(highest_name(node, num_blocks_));
    traversal.depth = std::max(traversal.depth, static_cast<int>(stack.size()));
    int merges = 0;
    while (stack.size() >= 2) {
      const TreeNode right = stack.back();
      const TreeNode left = stack[stack.size() - 2];
      if (left.level != right.level || right.index != left.index + 1 || (left.index & 1) != 0)
        break;
      stack.pop_back();
      stack.back() = highest_name({left.level + 1, left.index / 2}, num_blocks_);
      ++merges;
    }
    traversal.merges.push_back(merges);
  }
  return traversal;
}

}  // namespace quern
