// SPDX-License-Identifier: Apache-2.0
// The fixed-shape summation tree over the micro-blocks of a global batch.
//
// A batch of m blocks is summed as an aligned binary tree: node (level l, index i) covers the
// blocks [i 2^l, (i+1) 2^l), cut off at m. Its shape depends on m only, so a sum has the same bits
// whoever computes which part of it. A rank that owns the consecutive blocks [first, last) computes
// the maximal nodes inside its interval (its partials); what is left of the tree joins the partials
// of all ranks. Both jobs are the same walk: push nodes from left to right on a stack, and add the
// two topmost whenever they are siblings.
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

  /// The walk over a run of adjacent nodes, from left to right.
  struct Walk {
    std::vector<int> merges;       ///< after pushing node i, add the two topmost merges[i] times
    std::vector<TreeNode> remain;  ///< the nodes left on the stack, from left to right
    int depth = 0;                 ///< the deepest the stack gets
  };

  /// Walk over the blocks [first, last): `remain` are the partials of whoever owns them.
  Walk walk_blocks(int first, int last) const;

  /// Walk over adjacent nodes (the partials of all ranks in order): `remain` is the root alone when
  /// they cover all blocks.
  Walk walk_nodes(const std::vector<TreeNode>& nodes) const;

 private:
  int num_blocks_;
};

}  // namespace quern
