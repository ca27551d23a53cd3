// SPDX-License-Identifier: Apache-2.0
// How a set is opened by several processes, each of which opens some of its shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "io/shard_format.hpp"
#include "io/shard_header.hpp"
#include "io/shard_table.hpp"

namespace quern {

/// The shards of one split in a folder.
struct FoundShards {
  std::filesystem::path folder;
  ShardFileName of_first;

  int count() const { return of_first.count; }
  ShardFile file(int index) const;
};

/// By the names of the files alone. `split`: "train", "test", or empty for whichever the folder
/// holds. InputError when a shard is missing or there twice, the folder holds several data sets, or
/// both splits and `split` is empty.
FoundShards find_shards(const std::filesystem::path& folder, const std::string& split);

/// What consecutive shards say, up to the first that cannot be used.
struct OpenedShards {
  std::vector<ShardHeader> headers;
  std::optional<Error> problem;  ///< of the shard after these

  /// For another process.
  std::string text() const;
  static OpenedShards parse(const FoundShards& set, const std::string& text);
};

/// Opens the shards [first, end) of the set.
OpenedShards open_shards(const FoundShards& set, int first, int end);

/// Puts what the shards say together, in their order.
class ShardTableMaker {
 public:
  explicit ShardTableMaker(FoundShards set) : set_(std::move(set)) {}

  /// The next shard. InputError when it contradicts those before it.
  void add(const ShardHeader& header);
  /// After all. InputError when samples are missing.
  ShardTable table() &&;
  int num_added() const { return static_cast<int>(table_.shards.size()); }

 private:
  FoundShards set_;
  ShardHeader first_;
  ShardTable table_;
};

}  // namespace quern
