// SPDX-License-Identifier: Apache-2.0
// What `quern preflight` looks at: the launch before MPI starts, the network between hosts and
// between devices, files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/preflight/info.hpp"
#include "comm/communicator.hpp"
#include "comm/device_transport.hpp"
#include "comm/launch.hpp"
#include "io/shard_set.hpp"
#include "spec/recipe.hpp"

namespace quern {

/// Why these processes will not find each other; "" when they may. `mpi_library` as
/// mpi_library_version() tells.
std::string launch_problem(const Launch& launch, const std::string& mpi_library,
                           const EnvironmentLookup& lookup);

/// What the batch system's variables ask for.
JobInfo job_info(const EnvironmentLookup& lookup, int machine_cpus);

/// Collective: overwrites the values by their sums over the ranks; the seconds that took.
using TimedSum = std::function<double(std::span<float> values)>;

/// What a rank adds to element i of such a sum: whole numbers so small that floats hold the sums of
/// 300 000 ranks exactly. Libraries add in any order, and have to get it right.
float addend_of(int rank, std::size_t i);
/// The sum of that over all ranks.
float expected_sum(int ranks, std::size_t i);

/// Collective: sums that can be told in advance, and how long they take. The figures are rank 0's.
NetworkInfo measure_all_reduce(Communicator& comm, const TimedSum& sum);

/// The same of the communicator itself, in host memory.
NetworkInfo measure_network(Communicator& comm);

/// Collective: this rank's clock minus rank 0's, in seconds, to a few milliseconds.
double measure_clock_offset(Communicator& comm);

/// Collective: as measure_network(), between the ranks' devices. AgreedError when an exchange
/// fails.
NetworkInfo measure_device_network(Communicator& comm, DeviceTransport& transport);

/// Collective: the same by NCCL, where this program has it and each of several ranks a device of
/// its own; nothing elsewhere. What keeps NCCL from joining is in `problem`, on all ranks.
std::optional<DeviceNetworkInfo> try_nccl(Communicator& comm);

/// Rank 0: can `folder` (or where it will be) hold the checkpoints of a run: those that are kept
/// and one being written, less those that are there already? A file of one checkpoint's size, at
/// most 1 GiB, is really reserved and removed again, since quotas are not told. Writes nothing
/// else.
FileInfo inspect_run_folder(const std::string& folder, std::int64_t checkpoint_bytes, int keep);

/// The recipe's shards, for training and for tests. None where its samples come from elsewhere.
struct DataSets {
  std::vector<ShardSet> sets;
  std::string problem;  ///< why rank 0 cannot open them
};

/// Collective: rank 0 opens every shard and tells the others what they say of themselves.
/// AgreedError (exit 1) where a disk or a file server fails.
DataSets open_data_sets(Communicator& comm, const DataSpec& data);

/// What a node with `node_ranks` of all `ranks` holds of them in memory during a training.
std::int64_t held_bytes(const std::vector<ShardSet>& sets, const DataSpec& data, int node_ranks,
                        int ranks);

/// Of a node; "" where there is none.
struct DataProblems {
  std::string reading;  ///< why it cannot read the recipe's shards
  std::string memory;   ///< why it cannot hold of them what it is to hold
};

/// The first rank of a node, which has `node_ranks` of all `ranks`: opens the first and the last
/// shard of each set, not more. A file server has to answer all nodes at the same time.
/// SystemFailure where it fails.
DataProblems data_problems(const DataSets& data_sets, const DataSpec& data, int node_ranks,
                           int ranks);

/// How `recipe` splits its network over so many ranks, or why it cannot.
GridInfo grid_info(const Recipe& recipe, int num_ranks);

/// Bytes of a checkpoint of this recipe: weights and optimizer state, a little more for the rest.
/// InputError when the network does not fit together.
std::int64_t checkpoint_bytes(const Recipe& recipe);

}  // namespace quern
