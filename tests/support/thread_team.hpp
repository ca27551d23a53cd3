// SPDX-License-Identifier: Apache-2.0
// A team of threads as a device has them, on a CPU: all of them at once, with a barrier that really
// waits. Kokkos lends a team no more threads than there are cores.
#pragma once

#include <barrier>
#include <cstddef>
#include <cstdint>
#include <new>
#include <thread>
#include <vector>

namespace quern::test {

/// Memory that all threads of a team share; at first, what is in it is not a number.
class TeamScratch {
 public:
  static constexpr std::size_t kAlignment = 64;

  explicit TeamScratch(std::size_t bytes)
      : memory_(static_cast<unsigned char*>(::operator new (bytes, std::align_val_t{kAlignment}))) {
    for (std::size_t i = 0; i < bytes; ++i) memory_[i] = 0xFF;
  }
  ~TeamScratch() { ::operator delete (memory_, std::align_val_t{kAlignment}); }
  TeamScratch(const TeamScratch&) = delete;
  TeamScratch& operator=(const TeamScratch&) = delete;

  /// The one array that a kernel asks for.
  void* get_shmem_aligned(std::int64_t, std::int64_t) const { return memory_; }

 private:
  unsigned char* memory_;
};

/// What a kernel sees of its team.
class ThreadTeam {
 public:
  ThreadTeam(int league_rank, int team_rank, std::barrier<>& barrier, const TeamScratch& scratch)
      : league_rank_(league_rank), team_rank_(team_rank), barrier_(barrier), scratch_(scratch) {}

  int league_rank() const { return league_rank_; }
  int team_rank() const { return team_rank_; }
  void team_barrier() const { barrier_.arrive_and_wait(); }
  const TeamScratch& team_scratch(int) const { return scratch_; }

 private:
  int league_rank_;
  int team_rank_;
  std::barrier<>& barrier_;
  const TeamScratch& scratch_;
};

/// Runs kernel.run(team) for `num_teams` teams of Kernel::kThreads threads, one team after the
/// other.
template <class Kernel>
void run_thread_teams(std::int64_t num_teams, const Kernel& kernel) {
  std::barrier barrier(Kernel::kThreads);
  const TeamScratch memory(Kernel::kScratchBytes);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < Kernel::kThreads; ++rank) {
    threads.emplace_back([&, rank] {
      for (std::int64_t team = 0; team < num_teams; ++team) {
        kernel.run(ThreadTeam(static_cast<int>(team), rank, barrier, memory));
        barrier.arrive_and_wait();
      }
    });
  }
}

}  // namespace quern::test
