// SPDX-License-Identifier: Apache-2.0
// Launches for the tests of preflight.
#pragma once

#include <string>

#include "app/preflight/info.hpp"

namespace quern::test {

/// A good launch under Slurm: `nodes` machines of 4 processors, `per_node` bound ranks of one
/// thread.
inline Preflight good_launch(int nodes, int per_node) {
  Preflight info;
  info.job.under_slurm = true;
  info.job.job_ranks = nodes * per_node;
  info.job.ranks_per_node = per_node;
  for (int rank = 0; rank < nodes * per_node; ++rank) {
    RankInfo mine;
    mine.rank = rank;
    mine.host = "node" + std::to_string(rank / per_node + 1);
    mine.node_rank = rank % per_node;
    mine.cpus = {mine.node_rank};
    mine.machine_cpus = 4;
    mine.device = "OpenMP";
    mine.mpi = "Open MPI v4.1.4";
    mine.hdf5 = "1.10.8";
    info.ranks.push_back(mine);
  }
  info.network.bytes = 1 << 20;
  info.network.bytes_per_s = 1e9;
  return info;
}

/// The same with a device of its own for each rank.
inline Preflight good_gpu_launch(int nodes, int per_node) {
  Preflight info = good_launch(nodes, per_node);
  for (RankInfo& rank : info.ranks) {
    rank.device = "NVIDIA H100";
    rank.device_id = "GPU-" + std::to_string(rank.rank);
    rank.visible_devices = "0,1,2,3";
  }
  return info;
}

}  // namespace quern::test
