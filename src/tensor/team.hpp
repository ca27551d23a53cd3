// SPDX-License-Identifier: Apache-2.0
// Device kernels in which threads share work and scratch memory.
//
// They are written for teams of any size: every loop over work is strided by the number of threads,
// with barriers between, and whatever a thread keeps for itself is sized by its share. So the same
// source runs with hundreds of threads a team on a device, and with one thread a team (or with the
// few that OpenMP lends) in the tests on a CPU. The team's size is known to the compiler.
#pragma once

#include <string>

#include "tensor/types.hpp"

namespace quern {

using TeamPolicy = Kokkos::TeamPolicy<ExecSpace, Kokkos::IndexType<std::int64_t>>;
using Team = TeamPolicy::member_type;

/// Threads of a team that would have `threads` of them on a device.
template <int threads>
inline constexpr int kTeamThreads = kHostExecution ? 1 : threads;

/// Of a team's scratch memory. On a CPU the first level ends at 32 KB.
KOKKOS_INLINE_FUNCTION constexpr int scratch_level() {
  return kHostExecution ? 1 : 0;
}

/// Threads launched with more than this many bytes of arguments would wait for a copy of them:
/// Kokkos puts what is larger than 512 bytes with its policy, which takes about 150, into constant
/// memory, and fences before it does so again.
inline constexpr std::size_t kMaxFunctorBytes = 320;

/// Runs kernel(team) for `num_teams` teams of Kernel::kThreads threads with Kernel::kScratchBytes
/// of scratch memory each.
template <class Kernel>
void for_each_team(const ExecSpace& exec, const std::string& label, std::int64_t num_teams,
                   const Kernel& kernel) {
  static_assert(sizeof(Kernel) <= kMaxFunctorBytes, "arguments that travel with the launch");
  if (num_teams == 0) return;
  TeamPolicy policy(exec, static_cast<int>(num_teams), Kernel::kThreads);
  if constexpr (Kernel::kScratchBytes > 0)
    policy.set_scratch_size(scratch_level(), Kokkos::PerTeam(Kernel::kScratchBytes));
  Kokkos::parallel_for(label, policy, kernel);
}

/// `count` floats of the team's scratch memory; every call gives the next ones. A multiple of 4, so
/// that all of them begin on 16 bytes.
KOKKOS_INLINE_FUNCTION float* scratch_floats(const Team& team, std::int64_t count) {
  return static_cast<float*>(team.team_scratch(scratch_level())
                                 .get_shmem_aligned(count * std::int64_t{sizeof(float)}, 16));
}

/// Bytes of scratch for so many arrays of in total `floats` floats: room for their alignment.
constexpr std::size_t scratch_bytes(std::size_t floats, std::size_t arrays) {
  return floats * sizeof(float) + arrays * 16;
}

}  // namespace quern
