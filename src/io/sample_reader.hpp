// SPDX-License-Identifier: Apache-2.0
// Samples out of the middle of shards, while training runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <future>
#include <span>
#include <vector>

#include "io/open_shards.hpp"
#include "io/shard_blocks.hpp"
#include "io/shard_set.hpp"

namespace quern {

/// Reads the files themselves, where ShardSet::open() has found the samples to be: HDF5, which is
/// for one thread at a time, has no part in it. For one thread, which may be any; threads of its
/// own read and verify several pieces at the same time.
class SampleReader {
 public:
  /// `set` must outlive it. Opens nothing, and keeps so many files open at most.
  explicit SampleReader(const ShardSet& set, std::size_t most_files = most_open_shards());
  SampleReader(const SampleReader&) = delete;
  SampleReader& operator=(const SampleReader&) = delete;
  ~SampleReader();

  /// Asks the system to read these samples of the set ahead, as far as files may be opened for it:
  /// never at the cost of those announced before and not read. Does not wait. UnusableError when a
  /// file cannot be opened.
  void announce(std::int64_t first, std::int64_t count);

  /// Overwrites the samples [place, place + count) of `arrays` with [first, first + count) of the
  /// set. Half precision and labels of bytes are widened. A block is verified when it is read for
  /// the first time, and once more after its file has changed. `arrays` are whole after finish().
  /// UnusableError, with the file's name, when it cannot be read, is too short, a block does not
  /// have its checksum (in shards that have them), a label is out of range or a value is not
  /// finite; SystemFailure where a disk or a file server fails. Then nothing writes to the arrays
  /// any more.
  void read(std::int64_t first, std::int64_t count, std::int64_t place, const SampleArrays& arrays);

  /// Waits until all that was read is in its place and verified. UnusableError as of read().
  void finish();

 private:
  /// Consecutive samples of one shard; `first` is counted from the shard's first.
  struct Range {
    std::int64_t first = 0;
    std::int64_t count = 0;
  };

  /// Samples of a shard on their way into memory.
  struct Piece {
    std::size_t shard = 0;
    int descriptor = -1;
    KnownBlocks::FileState state;  ///< of the file
    bool is_known = false;         ///< has it been verified, or has it no checksums?
    Range samples;
    Range blocks;
    SampleArrays to;
  };
  /// What a thread reads, and its buffers for what cannot be read to where it belongs.
  struct Load {
    std::vector<Piece> pieces;
    std::int64_t bytes = 0;
    std::vector<std::byte> inputs;
    std::vector<std::byte> answers;
    std::vector<std::byte> sums;
    std::future<void> work;  ///< none while pieces are added
  };

  std::size_t shard_of(std::int64_t sample) const;
  Range piece_of(std::size_t shard, const Range& range) const;
  Range blocks_of(const Shard& shard, const Range& range) const;
  bool is_known(std::size_t shard, const Range& range) const;
  void add_all(std::int64_t first, std::int64_t count, std::int64_t place,
               const SampleArrays& arrays);
  void add(std::size_t shard, const Range& range, const SampleArrays& to);
  void start();
  void finish(Load& load);
  void settle();
  void read_pieces(Load& load) const;
  void read_piece(const Piece& piece, bool is_known, Load& load) const;
  void read_part(const Piece& piece, const Range& samples, bool is_known, Load& load) const;
  void verify(const Piece& piece, const Range& stored, std::span<const std::byte> inputs,
              std::span<const std::byte> answers, Load& load) const;
  int descriptor_of(std::size_t shard);
  void look_at(std::size_t shard);
  void clear(Load& load);

  const ShardSet& set_;
  OpenShards files_;
  std::vector<KnownBlocks> known_;  // of each shard
  // The round in which the state of its file was last asked for. finish() ends a round.
  std::vector<std::int64_t> looked_at_;
  std::int64_t round_ = 1;
  // Taken in turn. More than two, so that a disk has requests while others are verified.
  std::array<Load, 3> loads_;
  std::size_t next_ = 0;
};

}  // namespace quern
