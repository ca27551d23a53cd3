// SPDX-License-Identifier: Apache-2.0
// The sums of squares of chunks on a device: a team has a chunk of one array, a thread one lane of
// it, in the order of optim/squares.hpp.
#include "optim/squares.hpp"
#include "tensor/team.hpp"

namespace quern::device {

namespace {

template <int Threads = kTeamThreads<kLanes>>
struct SquaresOfChunk {
  static constexpr int kThreads = Threads;
  static constexpr std::size_t kScratchBytes = kLanes * sizeof(double) + 16;

  SquaredArrays arrays;
  const BlockRange* chunks;
  double* sums;

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    auto* lanes = static_cast<double*>(
        team.team_scratch(scratch_level()).get_shmem_aligned(kLanes * sizeof(double), 16));
    const BlockRange& chunk = chunks[team.league_rank() / arrays.count];
    const float* values = arrays.array[team.league_rank() % arrays.count];
    const std::int64_t begin = chunk.begin;
    const std::int64_t end = chunk.end;
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

void sum_chunks(const ExecSpace& exec, const std::string& label, const SquaredArrays& arrays,
                const View<const BlockRange>& chunks, double* sums) {
  for_each_team(exec, label, chunks.extent_int(0) * arrays.count,
                SquaresOfChunk<>{arrays, chunks.data(), sums});
}

}  // namespace quern::device
