// SPDX-License-Identifier: Apache-2.0
#include "app/new_shards.hpp"

#include "comm/agree.hpp"

namespace quern {

void check_values(Communicator& comm, const NewShards& shards, const SampleOrigins& origins) {
  const SampleSet& set = shards.set;
  agree(comm, [&] {
    ShardSetWriter(shards.folder, shards.name, set.content, set.count)
        .check(set.arrays(), set.range.first, origins);
  });
}

void write_together(Communicator& comm, const std::vector<NewShards>& sets, Overwrite overwrite) {
  std::vector<ShardSetWriter> writers;
  agree(comm, [&] {
    for (const NewShards& shards : sets)
      writers.emplace_back(shards.folder, shards.name, shards.set.content, shards.set.count);
  });
  run_on_root(comm, [&] {
    for (ShardSetWriter& writer : writers) writer.open_folder(overwrite);
  });
  agree(comm, [&] {
    for (std::size_t i = 0; i < sets.size(); ++i)
      for (int index = sets[i].first; index < sets[i].last; ++index)
        writers[i].write(index, sets[i].set.arrays(), sets[i].set.range.first);
  });
  run_on_root(comm, [&] {
    for (ShardSetWriter& writer : writers) writer.remove_old();
  });
  try {
    agree(comm, [&] {
      for (ShardSetWriter& writer : writers) writer.publish();
    });
  } catch (...) {
    for (ShardSetWriter& writer : writers) writer.withdraw();
    throw;
  }
}

}  // namespace quern
