// SPDX-License-Identifier: Apache-2.0
// A data set on disk as training sees it: read once, into memory that the caller owns (one copy
// for all ranks of a node).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/shape.hpp"

namespace quern {

struct DatasetInfo {
  std::filesystem::path folder;
  std::string name;
  std::string split;
  std::int64_t count = 0;  ///< samples
  Shape shape;             ///< of one image
  int classes = 0;         ///< every label is below it
  int num_shards = 0;
  std::int64_t image_bytes = 0;  ///< uint8 [count, channels, height, width]
  std::int64_t label_bytes = 0;  ///< uint8 [count]
  std::string content_hash;      ///< SHA-256 that names the data: equal on all ranks, kept in
                                 ///< checkpoints
};

/// Reads no data, only what the shards say of themselves. `split`: "train", "test", or empty for
/// whichever the folder holds. InputError when the shards are not one whole set.
DatasetInfo inspect_shards(const std::filesystem::path& folder, const std::string& split);

/// Overwrites `images` (image_bytes) and `labels` (label_bytes), verifying checksums and labels.
/// UnusableError when the data is damaged or is not what `info` was made from any more.
void read_shards(const DatasetInfo& info, std::span<std::uint8_t> images,
                 std::span<std::uint8_t> labels);

/// The part of read_shards that worker `worker` of `num_workers` does: all of them together fill
/// one shared copy. Each reads whole shards, some may read none.
void read_share_of_shards(const DatasetInfo& info, int worker, int num_workers,
                          std::span<std::uint8_t> images, std::span<std::uint8_t> labels);

}  // namespace quern
