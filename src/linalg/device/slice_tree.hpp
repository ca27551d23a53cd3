// SPDX-License-Identifier: Apache-2.0
// The block tree over sums that lie in device memory: for kernels whose teams compute parts of a
// block.
#pragma once

#include <algorithm>
#include <bit>
#include <string>

#include "base/ceil_div.hpp"
#include "linalg/block_schedule.hpp"

namespace quern::device {

/// Teams that keep a device busy: as many blocks are summed by one launch, and then added.
inline constexpr int kRoundTeams = 512;

/// Blocks of a launch that has so many teams for each of them.
inline int blocks_of_round(int teams_of_block, int num_blocks) {
  return std::min(ceil_div(kRoundTeams, teams_of_block), num_blocks);
}

/// What the traversal of the tree of so many blocks may hold at once.
inline int most_depth(int num_blocks) {
  return std::min(num_blocks,
                  2 * static_cast<int>(std::bit_width(static_cast<unsigned>(num_blocks))));
}

/// Sums of blocks as they come: `values` floats for each of `slices` slices of a block, whose sum
/// in order is the block's. The stack of the traversal lies beside them, `values` floats an entry.
struct SliceTree {
  const float* slices_of_block;  ///< [blocks of this round, slices, values]
  int slices;
  std::int64_t values;
  float* stack;  ///< [schedule.depth, values], kept from round to round

  /// Pushes the blocks [begin, end) of the schedule, all before `begin` being pushed already. With
  /// the last one, writes the partial sums at `offset`. Overwrites.
  void push(const ExecSpace& exec, const std::string& label, const BlockSchedule& schedule,
            int begin, int end, const GradientSums& partial_sums, std::int64_t offset) const {
    int first_top = 0;  // entries on the stack so far
    for (int block = 0; block < begin; ++block)
      first_top += 1 - schedule.host_merges(static_cast<std::size_t>(block));
    const SliceTree tree = *this;
    const int* merges = schedule.merges.data();
    const int num_partial_sums = end == schedule.num_blocks ? schedule.num_partial_sums : 0;
    float* to = partial_sums.data.data() + offset;
    const std::int64_t stride = partial_sums.stride;
    Kokkos::parallel_for(
        label, RangePolicy(exec, 0, values), KOKKOS_LAMBDA(std::int64_t v) {
          int top = first_top;
          for (int block = begin; block < end; ++block) {
            float sum = tree.sum_of_block(block - begin, v);
            for (int merge = merges[block]; merge > 0; --merge)
              sum = tree.stack[--top * tree.values + v] + sum;
            tree.stack[top++ * tree.values + v] = sum;
          }
          for (int p = 0; p < num_partial_sums; ++p)
            to[p * stride + v] = tree.stack[p * tree.values + v];
        });
  }

  KOKKOS_INLINE_FUNCTION float sum_of_block(int block, std::int64_t v) const {
    const float* slice = slices_of_block + std::int64_t{block} * slices * values + v;
    float sum = *slice;
    for (int s = 1; s < slices; ++s) sum += slice[s * values];
    return sum;
  }
};

}  // namespace quern::device
