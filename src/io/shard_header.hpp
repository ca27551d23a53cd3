// SPDX-License-Identifier: Apache-2.0
// Private to io/: what one shard says about itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "io/shard_content.hpp"
#include "io/shard_format.hpp"

namespace quern {

struct ShardHeader {
  std::string split;
  std::int64_t shard_index = 0;
  std::int64_t shard_count = 0;
  std::int64_t first_index = 0;
  std::int64_t total = 0;
  ShardContent content;
  std::int64_t count = 0;  ///< samples in this shard
  std::string sha256_input;
  std::string sha256_answer;  ///< empty without an answer
  std::int64_t input_offset = 0;
  std::int64_t answer_offset = 0;
  std::int64_t block_samples = 0;  ///< 0: no checksums of blocks
  std::int64_t block_digits = 0;   ///< of each of them
  std::int64_t block_sums_offset = 0;
  std::string sha256_blocks;  ///< of all their checksums; empty without
};

/// Reads attributes and shapes and checks all that can be checked with one file alone, its name
/// included. Throws InputError.
ShardHeader read_shard_header(const ShardFile& file);

}  // namespace quern
