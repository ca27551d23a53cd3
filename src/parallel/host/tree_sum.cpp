// SPDX-License-Identifier: Apache-2.0
#include "parallel/tree_sum.hpp"

#include <algorithm>

#include "base/ceil_div.hpp"
#include "linalg/host/simd.hpp"
#include "parallel/tree_sum_tile.hpp"
#include "tensor/parallel_for.hpp"

namespace quern::host {

namespace {

// Floats of a piece: an update loads its constants anew for each.
constexpr int kPiece = 2 * kSumTile;
// How far ahead other ranks' partial sums are asked for, in all, and parameters, which other ranks
// have read: lines of a core that shares no cache come after some 200 ns.
constexpr int kSumsAhead = 8 * kSumTile;
constexpr int kParametersAhead = 8 * kSumTile;

// Whole tiles, at least one.
std::int64_t sums_ahead(const TreeSumPlan& plan) {
  return std::int64_t{kSumTile} * std::max(1, kSumsAhead / kSumTile / plan.num_leaves);
}

// The leaves' floats of a tile.
void ask_for_tile(const TreeSumPlan& plan, const float* received) {
  for (int leaf = 0; leaf < plan.num_leaves; ++leaf)
    for (int i = 0; i < kSumTile; i += kLanes)
      simd::prefetch_to_second_level(received + plan.leaves(leaf) + i);
}

void ask_for_piece(const float* parameters) {
  for (int i = 0; i < kPiece; i += kLanes) simd::prefetch_to_write(parameters + i);
}

}  // namespace

void tree_sum_and_update(const ExecSpace& exec, const TreeSumPlan& plan,
                         const ConstFloatView& received, std::int64_t first, std::int64_t count,
                         const ParameterUpdate& update) {
  const float* from = received.data();
  const float* parameters = update.parameters + first;
  const std::int64_t ahead = sums_ahead(plan);
  const auto sum_and_update = [=](const std::int64_t piece) {
    alignas(64) float sum[kPiece];
    const std::int64_t begin = piece * kPiece;
    const std::int64_t end = std::min(begin + kPiece, count);
    for (std::int64_t at = begin; at < end; at += kSumTile) {
      if (count - at >= ahead + kSumTile) ask_for_tile(plan, from + at + ahead);
      sum_tile(plan, from, from, at, end - at, sum + (at - begin));
    }
    if (count - begin >= kParametersAhead + kPiece)
      ask_for_piece(parameters + begin + kParametersAhead);
    update.run(update.optimizer, first + begin, first + end, sum);
  };
  quern::parallel_for("quern::parallel::tree_sum_and_update",
                      RangePolicy(exec, 0, ceil_div(count, kPiece)), sum_and_update);
}

}  // namespace quern::host
