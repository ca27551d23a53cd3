// SPDX-License-Identifier: Apache-2.0
// The obvious twin of linalg/block_sum.hpp, and the definition of its order of additions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/block_tree.hpp"

namespace quern::reference {

/// Partial sums of one column: values[s] of slot s, block j = slots [j, j + 1) * block_slots,
/// `walk` over the blocks of the rank. Returns one sum per partial.
inline std::vector<float> block_tree_sum(const BlockTree::Walk& walk, std::size_t block_slots,
                                         std::span<const float> values) {
  std::vector<float> stack;
  for (std::size_t block = 0; block < walk.merges.size(); ++block) {
    float sum = 0;
    for (const float value : values.subspan(block * block_slots, block_slots)) sum += value;
    stack.push_back(sum);
    for (int merge = 0; merge < walk.merges[block]; ++merge) {
      const float right = stack.back();
      stack.pop_back();
      stack.back() += right;
    }
  }
  return stack;
}

}  // namespace quern::reference
