// SPDX-License-Identifier: Apache-2.0
// The sums of squares of a gradient's chunks on a device: a thread has one lane of a chunk, in the
// order of optim/squares.hpp.
#include "optim/squares.hpp"
#include "tensor/team.hpp"

namespace quern::device {

namespace {

template <int Threads = kTeamThreads<kLanes>>
struct SquaresOfChunk {
  static constexpr int kThreads = Threads;
  static constexpr std::size_t kScratchBytes = kLanes * sizeof(double) + 16;

  const float* values;
  const BlockRange* chunks;  ///< a team sums up each
  double* sums;

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    auto* lanes = static_cast<double*>(
        team.team_scratch(scratch_level()).get_shmem_aligned(kLanes * sizeof(double), 16));
    const std::int64_t begin = chunks[team.league_rank()].begin;
    const std::int64_t end = chunks[team.league_rank()].end;
    for (int l = team.team_rank(); l < kLanes; l += Threads) {
      double sum = 0;
      for (std::int64_t i = begin + l; i < end; i += kLanes) {
        const double value = values[i];
        sum += value * value;
      }
      lanes[l] = sum;
    }
    team.team_barrier();
    if (team.team_rank() != 0) return;
    for (int width = kLanes / 2; width > 0; width /= 2)
      for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
    sums[team.league_rank()] = lanes[0];
  }
};

}  // namespace

void sum_chunks(const ExecSpace& exec, const ConstFloatView& gradient,
                const View<BlockRange>& chunks, double* sums) {
  for_each_team(exec, "quern::optim::clip_chunks", chunks.extent_int(0),
                SquaresOfChunk<>{gradient.data(), chunks.data(), sums});
}

}  // namespace quern::device
