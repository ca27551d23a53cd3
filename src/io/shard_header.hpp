// SPDX-License-Identifier: Apache-2.0
// Private to io/: what one shard says about itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/shape.hpp"
#include "io/shard_format.hpp"

namespace quern {

struct ShardHeader {
  std::string split;
  std::int64_t shard_index = 0;
  std::int64_t shard_count = 0;
  std::int64_t first_index = 0;
  std::int64_t total = 0;
  int classes = 0;
  std::string sha256_images;
  std::string sha256_labels;
  std::int64_t count = 0;  ///< samples in this shard
  Shape shape;
};

/// Reads attributes and shapes and checks all that can be checked with one file alone, its name
/// included. Throws InputError.
ShardHeader read_shard_header(const ShardFile& file);

}  // namespace quern
