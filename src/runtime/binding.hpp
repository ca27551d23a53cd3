// SPDX-License-Identifier: Apache-2.0
// Cores and threads for each rank, chosen in the program where the launcher does not.
#pragma once

#include <vector>

#include "comm/communicator.hpp"

namespace quern {

/// The processors of rank `index` of `sharing` ranks that share `cpus`: equal runs of neighbours,
/// the first ranks get one more where that does not come out even. All of them when there are fewer
/// processors than ranks.
std::vector<int> share_of_cpus(const std::vector<int>& cpus, int index, int sharing);

/// Collective. With QUERN_BIND=cores in the environment: ranks of a node that have the same mask,
/// as under a launcher that does not bind, divide its processors among themselves. Otherwise, and
/// where the launcher has bound the ranks apart, nothing. Before any thread is started.
void bind_this_rank(Communicator& comm);

/// Of a rank: Kokkos has room for no more, and fails without a message.
inline constexpr int kMostThreads = 512;

/// Collective. OpenMP threads for this rank: OMP_NUM_THREADS or SLURM_CPUS_PER_TASK when set;
/// otherwise the processors this rank may run on, divided by the ranks of the node that have the
/// very same ones, at most kMostThreads. So ranks that nobody bound do not all take the whole node.
/// AgreedError where a variable is no number from 1 to kMostThreads ("4,2", for nested levels,
/// counts as 4).
int threads_of_this_rank(Communicator& comm);

/// Collective: how much of a processor each thread of this node has, 1 where there are as many
/// processors as threads. `threads`: of this rank. 1 where the system does not tell.
double processor_share(Communicator& comm, int threads);

}  // namespace quern
