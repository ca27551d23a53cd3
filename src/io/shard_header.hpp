// SPDX-License-Identifier: Apache-2.0
// What one shard says about itself.
#pragma once

#include <cstdint>
#include <string>

#include "io/shard_content.hpp"
#include "io/shard_format.hpp"
#include "io/shard_table.hpp"

namespace quern {

struct ShardHeader {
  std::string split;
  std::int64_t shard_index = 0;
  std::int64_t shard_count = 0;
  std::int64_t total = 0;  ///< samples of the set
  ShardContent content;
  Shard shard;
};

/// Reads attributes and shapes and checks all that can be checked with one file alone, its name
/// included. Throws InputError.
ShardHeader read_shard_header(const ShardFile& file);

}  // namespace quern
