// SPDX-License-Identifier: Apache-2.0
#include "samples/shared_opening.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/ceil_div.hpp"
#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "io/shard_opening.hpp"

namespace quern {

namespace {

// Who opens which shards: some of the ranks, far from each other, so that many nodes take part.
struct Openers {
  Openers(int num_ranks, int num_shards)
      : ranks(num_ranks), shards(num_shards), workers(std::clamp(num_shards / 16, 1, num_ranks)) {}

  int rank_of(std::int64_t worker) const { return static_cast<int>(worker * ranks / workers); }
  std::optional<int> worker_of(int rank) const {
    const auto worker =
        static_cast<int>(ceil_div(std::int64_t{rank} * workers, std::int64_t{ranks}));
    if (worker == workers || rank_of(worker) != rank) return std::nullopt;
    return worker;
  }
  /// The first shard of a worker.
  int begin(std::int64_t worker) const { return static_cast<int>(worker * shards / workers); }

  int ranks;
  int shards;
  int workers;
};

}  // namespace

ShardSet open_shards_once(Communicator& comm, const std::string& folder, const std::string& split) {
  FoundShards found{folder, {}};
  run_on_root(comm, [&] { found = find_shards(folder, split); });
  found.of_first.name = broadcast_string(comm, found.of_first.name);
  found.of_first.split = broadcast_string(comm, found.of_first.split);
  found.of_first.count = broadcast_value(comm, found.of_first.count);
  const Openers openers(comm.size(), found.count());
  OpenedShards opened;
  if (const auto worker = openers.worker_of(comm.rank()))
    opened = open_shards(found, openers.begin(*worker), openers.begin(*worker + 1));
  const std::vector<std::string> texts = gather_strings(comm, opened.text());
  std::string table;
  run_on_root(comm, [&] {
    ShardTableMaker maker(found);
    for (int worker = 0; worker < openers.workers; ++worker) {
      const int rank = openers.rank_of(worker);
      const auto part = OpenedShards::parse(found, texts[static_cast<std::size_t>(rank)]);
      for (const ShardHeader& header : part.headers) maker.add(header);
      if (!part.problem) continue;
      // What is wrong with the file itself this rank finds as well, and no rank need be named.
      if (rank > 0) read_shard_header(found.file(maker.num_added()));
      const std::string who =
          rank > 0 ? "rank " + std::to_string(rank) + " on " + comm.host(rank) + ": " : "";
      throw Error(who + part.problem->what(), part.problem->code());
    }
    table = std::move(maker).table().text();
  });
  return ShardSet(folder, broadcast_string(comm, table));
}

}  // namespace quern
