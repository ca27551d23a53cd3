// SPDX-License-Identifier: Apache-2.0
// What one work item of a tree sum does.
#pragma once

#include <cstdint>
#include <type_traits>

#include "parallel/tree_sum.hpp"

namespace quern {

/// Floats that one work item adds side by side: on a CPU some vector registers' worth, so that the
/// steps of the traversal cost little beside the additions; one float on a device.
inline constexpr int kSumTile = kHostExecution ? 16 * kLanes : 1;

/// Adds `width` neighbouring elements; with a constant width the inner loops become vector code. A
/// leaf that is merged at once need not go through the stack.
template <class Width>
KOKKOS_INLINE_FUNCTION void sum_floats(const TreeSumPlan& plan, const float* received,
                                       const float* own, std::int64_t begin, Width width,
                                       float* sum) {
  float stack[BlockSchedule::kMaxDepth][kSumTile];
  int top = -1;
  for (int leaf = 0; leaf < plan.num_leaves; ++leaf) {
    const std::int64_t offset = plan.leaves(leaf);
    const float* from = offset >= 0 ? received + (offset + begin) : own + (~offset + begin);
    int merges = plan.merges(leaf);
    if (merges == 0) {
      ++top;
      for (int i = 0; i < width; ++i) stack[top][i] = from[i];
      continue;
    }
    for (int i = 0; i < width; ++i) stack[top][i] += from[i];
    while (--merges > 0) {
      --top;
      for (int i = 0; i < width; ++i) stack[top][i] += stack[top + 1][i];
    }
  }
  for (int i = 0; i < width; ++i) sum[i] = stack[0][i];
}

/// Overwrites sum[0 ..] with the sum of the leaves' floats from `begin` on: of a tile, or of the
/// `left` < kSumTile that are left.
KOKKOS_INLINE_FUNCTION void sum_tile(const TreeSumPlan& plan, const float* received,
                                     const float* own, std::int64_t begin, std::int64_t left,
                                     float* sum) {
  if (left >= kSumTile) {
    constexpr std::integral_constant<int, kSumTile> kWhole;
    sum_floats(plan, received, own, begin, kWhole, sum);
  } else {
    sum_floats(plan, received, own, begin, static_cast<int>(left), sum);
  }
}

}  // namespace quern
