// SPDX-License-Identifier: Apache-2.0
// What `quern preflight` knows: of every rank, of what they share, and what it thinks of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/process_grid.hpp"

namespace quern {

/// So begins the recipe's hash of a node that cannot read it; the reason follows.
inline constexpr const char* kNoRecipe = "nothing (";

/// What one rank sees of itself.
struct RankInfo {
  int rank = 0;
  std::string host;
  int node_rank = 0;
  std::vector<int> cpus;        ///< processors it may run on
  int machine_cpus = 0;         ///< processors of the machine that are switched on
  int threads = 1;              ///< that it will start
  std::string device;           ///< what runs its kernels: "OpenMP", "NVIDIA H100", ...
  std::string device_id;        ///< unique among all devices; empty for host back ends
  std::string visible_devices;  ///< CUDA_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES; may be empty
  double clock_offset_s = 0;    ///< this node's clock minus rank 0's
  std::string mpi;              ///< the library that it runs with; empty without MPI
  std::string hdf5;
  // Of the first rank of each node only:
  std::string recipe_hash;
  std::string data_problem;    ///< why it cannot read the shards
  std::string memory_problem;  ///< why they are too large for it
};

std::string to_text(const RankInfo& info);
RankInfo rank_info_of(const std::string& text);

/// What the surroundings ask for.
struct JobInfo {
  std::optional<int> expected_ranks;  ///< --ranks
  std::optional<int> job_ranks;       ///< tasks of the Slurm job, when it tells
  std::optional<int> ranks_per_node;  ///< SLURM_NTASKS_PER_NODE
  bool under_slurm = false;
  bool cpus_overcommitted = false;  ///< Slurm claims more processors than the node has
  bool may_share_devices = false;   ///< QUERN_SHARE_GPU=1
  double min_bandwidth = 0;         ///< bytes/s that an all-reduce must reach; 0: any
};

struct NetworkInfo {
  bool all_reduce_is_right = true;
  double latency_s = 0;        ///< of an all-reduce of 8 bytes
  double bytes_per_s = 0;      ///< of an all-reduce of `bytes`: size by time
  double bus_bytes_per_s = 0;  ///< times 2 (ranks - 1) / ranks: what the links carry
  std::int64_t bytes = 0;
};

/// The same between the ranks' devices, by what moves gradients there.
struct DeviceNetworkInfo {
  std::string transport;  ///< "NCCL 2.28.9"
  std::string problem;    ///< why there are no figures
  NetworkInfo network;
};

struct FileInfo {
  std::string folder;                 ///< where the run will write; empty when none was named
  std::int64_t checkpoint_bytes = 0;  ///< 0: of no recipe that could be trained
  int checkpoints = 0;                ///< there must be room for so many more
  std::int64_t free_bytes = 0;
  std::string problem;          ///< why nothing can be written there
  std::string locking_problem;  ///< why files cannot be locked there
};

/// How the recipe splits the network over these ranks.
struct GridInfo {
  GridShape shape;
  std::string problem;  ///< why it cannot
};

enum class Severity { warning, error };

struct Finding {
  Severity severity = Severity::error;
  std::string check;  ///< "ranks", "devices", ...
  std::string text;
  std::string fix;                 ///< the flag to change
  std::vector<std::string> hosts;  ///< the nodes that it is about; none: the launch
};

struct Preflight {
  std::string version;  ///< of quern; all ranks run the same executable
  std::string commit;
  JobInfo job;
  std::vector<RankInfo> ranks;
  NetworkInfo network;  ///< between hosts
  std::optional<DeviceNetworkInfo> device_network;
  FileInfo files;
  std::optional<GridInfo> grid;              ///< of a recipe
  std::string recipe_problem;                ///< why a training refuses it whatever its data are
  std::string data_problem;                  ///< why some rank could not open its data
  std::string fit_problem;                   ///< why a training refuses it with its data
  std::vector<std::string> recipe_warnings;  ///< what a training warns of
  std::vector<Finding> findings;
};

}  // namespace quern
