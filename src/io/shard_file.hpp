// SPDX-License-Identifier: Apache-2.0
// Private to io/: the writing of one shard.
#pragma once

#include <cstdint>
#include <filesystem>

#include "io/shard_content.hpp"
#include "io/shard_writer.hpp"

namespace quern {

/// Which samples of a set a shard has.
struct ShardRange {
  int index = 0;  ///< of the shard
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t total = 0;  ///< of the set
};

/// Creates `path` and leaves it on the disk, with both of `written`'s checksums. `samples`: those
/// of the set from the one numbered `first` on, which must have the shard's.
void write_shard_file(const std::filesystem::path& path, const ShardSetName& set,
                      const ShardContent& content, const ShardRange& shard,
                      const ConstSampleArrays& samples, std::int64_t first, WrittenShard& written);

}  // namespace quern
