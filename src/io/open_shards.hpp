// SPDX-License-Identifier: Apache-2.0
// Private to io/: which files of a set are open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/shard_set.hpp"

namespace quern {

/// Keeps a bounded number of files open, each until its place is needed. One that samples are read
/// from stays open; one whose samples are announced does as long as there is another to close. For
/// one thread.
class OpenShards {
 public:
  /// `set` must outlive it. Opens nothing.
  OpenShards(const ShardSet& set, std::size_t most);
  OpenShards(const OpenShards&) = delete;
  OpenShards& operator=(const OpenShards&) = delete;
  ~OpenShards();

  bool is_open(std::size_t shard) const { return files_[shard].descriptor >= 0; }
  /// Can open() keep to the bound, and to what is announced?
  bool has_room(std::size_t shard) const;
  /// Can open() keep to the bound, at the cost of what is announced?
  bool can_open(std::size_t shard) const;
  /// -> its descriptor. Only after can_open(). UnusableError or SystemFailure when it cannot be
  /// opened.
  int open(std::size_t shard);

  /// So many of its samples are to be read soon; they are read. The file is open.
  void announce(std::size_t shard, std::int64_t samples) { files_[shard].announced += samples; }
  void end_announced(std::size_t shard, std::int64_t samples);
  /// Somebody reads from it, until as many calls of release().
  void hold(std::size_t shard) { ++files_[shard].readers; }
  void release(std::size_t shard) { --files_[shard].readers; }

 private:
  struct File {
    int descriptor = -1;
    std::int64_t announced = 0;  // samples that are still to be read
    int readers = 0;
  };

  std::vector<std::size_t>::const_iterator closable(bool also_announced) const;

  const ShardSet& set_;
  std::size_t most_;
  std::vector<File> files_;          // of each shard
  std::vector<std::size_t> opened_;  // the shard used last is the last
};

/// How many files of a set a process may keep open: a part of what the system lets it, which others
/// in this process need as well.
std::size_t most_open_shards();

}  // namespace quern
