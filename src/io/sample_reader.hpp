// SPDX-License-Identifier: Apache-2.0
// Samples out of the middle of shards, while training runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "io/shard_set.hpp"

namespace quern {

/// Reads the files themselves, where ShardSet::open() has found the samples to be: HDF5, which is
/// for one thread at a time, has no part in it. For one thread, which may be any.
class SampleReader {
 public:
  /// `set` must outlive it. Opens nothing.
  explicit SampleReader(const ShardSet& set);
  SampleReader(const SampleReader&) = delete;
  SampleReader& operator=(const SampleReader&) = delete;
  ~SampleReader();

  /// Asks the system to read these samples of the set ahead. Does not wait.
  void announce(std::int64_t first, std::int64_t count);

  /// Overwrites the samples [place, place + count) of `arrays` with [first, first + count) of the
  /// set. Half precision and labels of bytes are widened. UnusableError, with the file's name, when
  /// it cannot be read, is too short, a block does not have its checksum (in shards that have
  /// them), a label is out of range or a value is not finite.
  void read(std::int64_t first, std::int64_t count, std::int64_t place, const SampleArrays& arrays);

 private:
  struct OpenFile {
    std::size_t shard;
    int descriptor;
  };
  /// Samples of one shard, as they are stored: at least those that are asked for.
  struct Stored {
    std::int64_t first = 0;  ///< counted from the shard's first
    std::int64_t count = 0;
    std::vector<std::byte> input;
    std::vector<std::byte> answer;
    std::vector<std::byte> sums;
  };

  std::size_t shard_of(std::int64_t sample) const;
  std::int64_t piece_end(const Shard& shard, std::int64_t first) const;
  void read_piece(std::size_t shard, std::int64_t first, std::int64_t count);
  void verify(const Shard& shard) const;
  void decode(const Shard& shard, std::int64_t first, std::int64_t count, std::int64_t place,
              const SampleArrays& arrays) const;
  int descriptor_of(std::size_t shard);
  void read_bytes(std::size_t shard, std::int64_t offset, std::int64_t num_bytes,
                  std::vector<std::byte>& bytes);

  const ShardSet& set_;
  std::vector<OpenFile> files_;  // the one used last is the last
  Stored stored_;
};

}  // namespace quern
