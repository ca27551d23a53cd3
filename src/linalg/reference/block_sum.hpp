// SPDX-License-Identifier: Apache-2.0
// Reference implementation of linalg/block_sum.hpp, and the definition of its order of additions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/block_tree.hpp"

namespace quern::reference {

/// Partial sums of one column: values[s] of row s, block j = rows [j, j + 1) * block_rows,
/// `traversal` over the blocks of the rank. Returns one sum per partial sum.
inline std::vector<float> block_tree_sum(const BlockTree::Traversal& traversal,
                                         std::size_t block_rows, std::span<const float> values) {
  std::vector<float> stack;
  for (std::size_t block = 0; block < traversal.merges.size(); ++block) {
    float sum = 0;
    for (const float value : values.subspan(block * block_rows, block_rows)) sum += value;
    stack.push_back(sum);
    for (int merge = 0; merge < traversal.merges[block]; ++merge) {
      const float right = stack.back();
      stack.pop_back();
      stack.back() += right;
    }
  }
  return stack;
}

}  // namespace quern::reference
