// SPDX-License-Identifier: Apache-2.0
// The traversal of the block tree inside a team: many blocks are summed side by side, and then
// added in the one order that the tree prescribes.
#pragma once

#include "linalg/block_schedule.hpp"
#include "tensor/team.hpp"

namespace quern::device {

/// BlockSchedule without its Views: what a kernel needs of the traversal.
struct BlockTraversal {
  const int* merges;
  int num_blocks;
  int num_partial_sums;
};

inline BlockTraversal traversal_of(const BlockSchedule& schedule) {
  return {schedule.merges.data(), schedule.num_blocks, schedule.num_partial_sums};
}

/// The stack of the traversal for Width values, and the sums of up to Round blocks that wait for
/// it, in scratch memory. Threads of the team fill round(j), then all of them call push_round().
template <int Width, int Round, int Threads>
class BlockStack {
 public:
  static constexpr std::size_t kScratchBytes =
      scratch_bytes(Width * (Round + BlockSchedule::kMaxDepth), 2);

  KOKKOS_INLINE_FUNCTION explicit BlockStack(const Team& team)
      : round_(scratch_floats(team, Width * Round)),
        stack_(scratch_floats(team, Width * BlockSchedule::kMaxDepth)) {}

  /// Where the sums [Width] of the j-th block of this round belong.
  KOKKOS_INLINE_FUNCTION float* round(int j) const { return round_ + j * Width; }

  /// Pushes the sums of the blocks begin .. begin + Round - 1, as far as there are so many. Waits
  /// for the team before and after.
  KOKKOS_INLINE_FUNCTION void push_round(const Team& team, const BlockTraversal& traversal,
                                         int begin) {
    team.team_barrier();
    const int count = Kokkos::min(Round, traversal.num_blocks - begin);
    int top = top_;
    for (int v = team.team_rank(); v < Width; v += Threads) {
      top = top_;
      for (int j = 0; j < count; ++j) {
        float sum = round(j)[v];
        for (int merge = traversal.merges[begin + j]; merge > 0; --merge)
          sum = stack_[--top * Width + v] + sum;
        stack_[top++ * Width + v] = sum;
      }
    }
    team.team_barrier();
    top_ = top;
  }

  /// Calls f(partial, v, sum) for all partial sums and v < Width.
  template <class F>
  KOKKOS_INLINE_FUNCTION void store(const Team& team, const BlockTraversal& traversal,
                                    const F& f) const {
    for (int v = team.team_rank(); v < Width; v += Threads)
      for (int p = 0; p < traversal.num_partial_sums; ++p) f(p, v, stack_[p * Width + v]);
  }

 private:
  float* round_;
  float* stack_;
  int top_ = 0;  ///< of this thread's values; threads without any never need it
};

}  // namespace quern::device
