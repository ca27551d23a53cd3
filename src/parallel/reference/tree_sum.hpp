// SPDX-License-Identifier: Apache-2.0
// Reference implementation of the summation tree: its definition, read aloud.
#pragma once

#include <bit>
#include <span>
#include <vector>

namespace quern::reference {

/// Sum of the leaves, elementwise: the aligned binary tree of base/block_tree.hpp. A node of n > 1
/// leaves has the largest power of two below n on its left.
inline std::vector<float> tree_sum(std::span<const std::vector<float>> leaves) {
  if (leaves.size() == 1) return leaves[0];
  const std::size_t num_left = std::bit_ceil(leaves.size()) / 2;
  std::vector<float> sum = tree_sum(leaves.first(num_left));
  const std::vector<float> right = tree_sum(leaves.subspan(num_left));
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += right[i];
  return sum;
}

}  // namespace quern::reference
