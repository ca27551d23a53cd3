// SPDX-License-Identifier: Apache-2.0
// Private to io/: checksums of parts of a shard, so that samples out of its middle can be verified.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/sha256.hpp"
#include "io/shard_content.hpp"

namespace quern {

/// The dataset of checksums, uint8 [blocks, kBlockDigits], and the attribute that says how many
/// samples a block has (the last may have fewer).
inline constexpr const char* kBlockSums = "/blocks";
inline constexpr const char* kBlockSamples = "block_samples";
inline constexpr std::int64_t kBlockDigits = 64;

/// What shards are written with: blocks of 16 KiB. Whoever reads some samples reads their blocks,
/// so they are small beside what is read in one go.
inline std::int64_t block_samples_of(const ShardContent& content) {
  constexpr std::int64_t kBytes = std::int64_t{16} << 10;
  return std::max<std::int64_t>(1, kBytes / (content.input_bytes() + content.answer_bytes()));
}

/// SHA-256 of the stored bytes of a block: its inputs, then its answers.
inline std::string block_sum(std::span<const std::byte> inputs,
                             std::span<const std::byte> answers) {
  return Sha256().update(inputs).update(answers).hex_digest();
}

}  // namespace quern
