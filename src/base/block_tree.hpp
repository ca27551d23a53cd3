// SPDX-License-Identifier: Apache-2.0
// The fixed-shape summation tree over the micro-blocks of a global batch.
//
// A batch of m blocks is summed as an aligned binary tree: node (level l, index i) covers the
// blocks [i 2^l, (i+1) 2^l), cut off at m. Its shape depends on m only, so a sum has the same bits
// whoever computes which part of it. A rank that owns the consecutive blocks [first, last) computes
// the maximal nodes inside its interval (its partial sums); what is left of the tree joins the
// partial sums of all ranks. Both jobs are the same traversal: push nodes from left to right on a
// stack, and add the two topmost whenever they are siblings.
#pragma once

#include <vector>

namespace quern {

struct TreeNode {
  int level = 0;
  int index = 0;
  friend bool operator==(const TreeNode&, const TreeNode&) = default;
};

class BlockTree {
 public:
  /// `num_blocks` >= 1.
  explicit BlockTree(int num_blocks);

  int num_blocks() const { return num_blocks_; }

  /// The traversal of a run of adjacent nodes, from left to right.
  struct Traversal {
    std::vector<int> merges;      ///< after pushing node i, add the two topmost merges[i] times
    std::vector<TreeNode> roots;  ///< the nodes left on the stack, from left to right
    int depth = 0;                ///< the deepest the stack gets
  };

  /// Traversal of the blocks [first, last): `roots` are the partial sums of whoever owns them.
  Traversal traverse_blocks(int first, int last) const;

  /// Traversal of adjacent nodes (the partial sums of all ranks in order): `roots` is the root
  /// alone when they cover all blocks.
  Traversal traverse_nodes(const std::vector<TreeNode>& nodes) const;

 private:
  int num_blocks_;
};

}  // namespace quern
