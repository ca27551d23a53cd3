// SPDX-License-Identifier: Apache-2.0
// Samples in memory that become sets of shards, several sets together or none.
#pragma once

#include <string>
#include <vector>

#include "app/sample_set.hpp"
#include "comm/communicator.hpp"
#include "io/shard_writer.hpp"

namespace quern {

/// A set on its way into a folder. This rank writes the shards from `first` to below `last`, whose
/// samples `set` holds.
struct NewShards {
  std::string folder;
  ShardSetName name;
  SampleSet set;
  int first = 0;
  int last = 0;
};

/// InputError unless values are finite and labels in range, with the number of the sample among
/// those that `shards.set` counts. Collective.
void check_values(Communicator& comm, const NewShards& shards, const SampleOrigins& origins);

/// Writes the shards, with the bytes that one rank alone would write. They get their names when all
/// of all sets are complete. InputError, before anything is written, where a folder holds another
/// data set, or shards of this one without Overwrite::yes. Collective.
void write_together(Communicator& comm, const std::vector<NewShards>& sets, Overwrite overwrite);

}  // namespace quern
