// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/data.hpp"

#include "base/error.hpp"
#include "base/system_failure.hpp"
#include "comm/agree.hpp"
#include "comm/node_shared.hpp"
#include "runtime/memory.hpp"
#include "samples/shared_opening.hpp"
#include "strategy/sample_stream.hpp"

namespace quern {

DataSets open_data_sets(Communicator& comm, const DataSpec& data) {
  DataSets found;
  if (data.source != DataSource::shards) return found;
  try {
    found.sets.push_back(open_shards_once(comm, data.train, "train"));
    if (!data.test.empty()) found.sets.push_back(open_shards_once(comm, data.test, "test"));
  } catch (const AgreedError& error) {
    if (error.code() == ExitCode::failure)
      throw;  // not the launch's fault: the next start may work
    found.problem = error.what();
  }
  return found;
}

static std::int64_t bytes_of(const std::vector<ShardSet>& sets, const DataSpec& data,
                             std::int64_t of_streamed) {
  std::int64_t bytes = 0;
  for (const ShardSet& set : sets) {
    const std::int64_t sample_bytes = set.content().memory_bytes();
    const bool streamed = is_streamed(data, set.count(), sample_bytes);
    bytes += streamed ? of_streamed : set.count() * sample_bytes;
  }
  return bytes;
}

std::int64_t held_bytes(const std::vector<ShardSet>& sets, const DataSpec& data, int node_ranks,
                        int ranks) {
  return bytes_of(sets, data, data.memory / ranks * node_ranks);
}

// Some rank could not open them. Is that so of this node?
static std::string problem_here(const DataSpec& data) {
  try {
    ShardSet::open(data.train, "train");
    if (!data.test.empty()) ShardSet::open(data.test, "test");
  } catch (const SystemFailure&) {
    throw;
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

DataProblems data_problems(const DataSets& data_sets, const DataSpec& data, int node_ranks,
                           int ranks, std::int64_t training_bytes) {
  if (!data_sets.problem.empty()) return {problem_here(data), ""};
  try {
    for (const ShardSet& set : data_sets.sets) {
      const std::size_t last = set.shards().size() - 1;
      set.check_file(0);
      if (last > 0) set.check_file(last);
    }
  } catch (const SystemFailure&) {
    throw;
  } catch (const Error& error) {
    return {error.what(), ""};
  }
  try {
    const std::int64_t held = held_bytes(data_sets.sets, data, node_ranks, ranks);
    check_memory(held, "the data set");
    check_memory(held + training_bytes, "the training with its data");
    // What ranks of a node have once; each streams into memory of its own.
    if (node_ranks > 1)
      check_shared_memory(bytes_of(data_sets.sets, data, 0), "the data set",
                          free_shared_memory_bytes());
  } catch (const Error& error) {
    return {"", error.what()};
  }
  return {};
}

}  // namespace quern
