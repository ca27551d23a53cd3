// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.hpp"

namespace quern {

/// Collective. OpenMP threads for this rank: OMP_NUM_THREADS or SLURM_CPUS_PER_TASK when set;
/// otherwise the processors this rank may run on, divided by the ranks of the node that have the
/// very same ones. So ranks that nobody bound do not all take the whole node.
int threads_of_this_rank(Communicator& comm);

}  // namespace quern
