// SPDX-License-Identifier: Apache-2.0
#include "parallel/tree_sum.hpp"

#include <algorithm>

#include "base/ceil_div.hpp"
#include "linalg/host/simd.hpp"
#include "parallel/tree_sum_tile.hpp"
#include "tensor/parallel_for.hpp"

namespace quern::host {

namespace {

// Floats of a piece. An update loads its constants anew for each.
constexpr int kPiece = 2 * kSumTile;
// Lines of a core that shares no cache come after some 200 ns, so they are prefetched: partial sums
// of other ranks, in all so many floats ahead,
constexpr int kSumsAhead = 8 * kSumTile;
// and parameters, which other ranks have read and this one writes.
constexpr int kParametersAhead = 8 * kSumTile;

// Whole tiles, at least one.
std::int64_t sums_ahead(const TreeSumPlan& plan) {
  return std::int64_t{kSumTile} * std::max(1, kSumsAhead / kSumTile / plan.num_leaves);
}

// The leaves' floats of a tile.
void prefetch_tile(const TreeSumPlan& plan, const float* received) {
  for (int leaf = 0; leaf < plan.num_leaves; ++leaf)
    for (int i = 0; i < kSumTile; i += kLanes)
      simd::prefetch_to_second_level(received + plan.leaves(leaf) + i);
}

void prefetch_parameters(const float* parameters) {
  for (int i = 0; i < kPiece; i += kLanes) simd::prefetch_to_write(parameters + i);
}

// The sum's floats [at, end) go to the parameters of the same places, after `begin`.
void sum_and_update(const TreeSumPlan& plan, const float* received, std::int64_t begin,
                    const ParameterUpdate& update, std::int64_t at, std::int64_t end) {
  const std::int64_t ahead = sums_ahead(plan);
  const float* parameters = update.parameters + begin;
  alignas(64) float sum[kPiece];
  for (; at < end; at += kPiece) {
    const std::int64_t last = std::min(at + kPiece, end);
    for (std::int64_t tile = at; tile < last; tile += kSumTile) {
      if (end - tile >= ahead + kSumTile) prefetch_tile(plan, received + tile + ahead);
      sum_tile(plan, received, received, tile, last - tile, sum + (tile - at));
    }
    if (end - at >= kParametersAhead + kPiece)
      prefetch_parameters(parameters + at + kParametersAhead);
    update.updater->update_pieces(begin + at, begin + last, sum);
  }
}

}  // namespace

void tree_sum_update(const ExecSpace& exec, const TreeSumPlan& plan, const ConstFloatView& received,
                     std::int64_t begin, std::int64_t count, const ParameterUpdate& update) {
  if (count == 0) return;
  const float* from = received.data();
  // One work item a thread, so that it prefetches nothing that another thread writes.
  const std::int64_t pieces = ceil_div(count, kPiece);
  const std::int64_t items = std::min<std::int64_t>(pieces, exec.concurrency());
  quern::parallel_for("quern::parallel::tree_sum_update", RangePolicy(exec, 0, items),
                      [=](const std::int64_t item) {
                        const std::int64_t at = item * pieces / items * kPiece;
                        const std::int64_t end = (item + 1) * pieces / items * kPiece;
                        sum_and_update(plan, from, begin, update, at, std::min(end, count));
                      });
}

}  // namespace quern::host
