// SPDX-License-Identifier: Apache-2.0
// Private to io/: checksums of parts of a shard, so that samples out of its middle can be verified.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/shard_content.hpp"

namespace quern {

/// The dataset of checksums, uint8 [blocks, digits], and the attribute that says how many samples a
/// block has (the last may have fewer).
inline constexpr const char* kBlockSums = "/blocks";
inline constexpr const char* kBlockSamples = "block_samples";
/// The digits of a checksum tell what it is: XXH3 of 128 bits, or SHA-256 in older shards.
inline constexpr std::int64_t kXxh3Digits = 32;
inline constexpr std::int64_t kSha256Digits = 64;

/// What shards are written with: blocks of 16 KiB. Whoever reads some samples reads their blocks,
/// so they are small beside what is read in one go.
std::int64_t block_samples_of(const ShardContent& content);

/// Of consecutive blocks of `block` samples the checksum of the stored bytes (a block's inputs,
/// then its answers), `digits` of each, one after the other.
std::string block_sums(const ShardContent& content, std::int64_t block, std::int64_t digits,
                       std::span<const std::byte> inputs, std::span<const std::byte> answers);

/// Of which blocks of a file is it known that they have their checksums?
class KnownBlocks {
 public:
  /// What tells one state of a file from another.
  struct FileState {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t bytes = 0;
    std::int64_t changed_s = 0;
    std::int64_t changed_ns = 0;
    friend bool operator==(const FileState&, const FileState&) = default;
  };

  /// To be called before a file is read. Of one that has changed nothing is known.
  void expect_state(const FileState& state);

  const FileState& state() const { return state_; }

  bool has_all(std::int64_t first, std::int64_t end) const;
  /// `state`: that of the file when these were read. Of another one than the last nothing is kept.
  void add(const FileState& state, std::int64_t first, std::int64_t end);

 private:
  FileState state_;
  std::vector<bool> blocks_;
};

}  // namespace quern
