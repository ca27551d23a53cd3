// SPDX-License-Identifier: Apache-2.0
// Launches for the tests of preflight.
#pragma once

#include <string>

#include "app/preflight/facts.hpp"

namespace quern::test {

/// A good launch under Slurm: `nodes` machines of 4 processors, `per_node` bound ranks of one
/// thread.
inline Preflight good_launch(int nodes, int per_node) {
  Preflight facts;
  facts.job.under_slurm = true;
  facts.job.job_ranks = nodes * per_node;
  facts.job.ranks_per_node = per_node;
  for (int rank = 0; rank < nodes * per_node; ++rank) {
    RankFacts mine;
    mine.rank = rank;
    mine.host = "node" + std::to_string(rank / per_node + 1);
    mine.node_rank = rank % per_node;
    mine.cpus = {mine.node_rank};
    mine.machine_cpus = 4;
    mine.device = "OpenMP";
    facts.ranks.push_back(mine);
  }
  facts.network.bytes = 1 << 20;
  facts.network.bytes_per_s = 1e9;
  return facts;
}

/// The same with a device of its own for each rank.
inline Preflight good_gpu_launch(int nodes, int per_node) {
  Preflight facts = good_launch(nodes, per_node);
  for (RankFacts& rank : facts.ranks) {
    rank.device = "NVIDIA H100";
    rank.device_id = "GPU-" + std::to_string(rank.rank);
    rank.visible_devices = "0,1,2,3";
  }
  return facts;
}

}  // namespace quern::test
