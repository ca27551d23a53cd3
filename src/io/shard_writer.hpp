// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "io/shard_content.hpp"

namespace quern {

struct ShardSetSpec {
  std::string name;   ///< letters, digits, '.', '_' and '-'
  std::string split;  ///< "train" or "test"
  Shape shape;        ///< of one image
  int classes = 0;    ///< every label is below it
  int num_shards = 1;
};

/// The same for samples of any kind.
struct ShardSetName {
  std::string name;
  std::string split;
  int num_shards = 1;
};

struct WrittenShard {
  std::filesystem::path path;
  std::int64_t first_index = 0;
  std::int64_t count = 0;
  std::string sha256_input;
  std::string sha256_answer;
};

enum class Overwrite { no, yes };

/// Writes samples as shards of nearly equal size into `folder`, which is made when missing.
/// `content` says what there is of every sample and how it is stored; `samples` holds just that.
/// All files get their names only after all are complete and on the disk. Shards of the same name
/// and split that are there already: InputError, or with Overwrite::yes they are all removed just
/// before, so an interrupted run never leaves a mix of old and new (the reader sees a missing
/// shard). InputError, before anything is written, when the arguments do not fit together, a value
/// is not finite (also after rounding to float16), a label out of range, or the folder holds
/// another data set of this split.
std::vector<WrittenShard> write_shards(const std::filesystem::path& folder, const ShardSetName& set,
                                       const ShardContent& content,
                                       const ConstSampleArrays& samples, Overwrite overwrite);

/// The same for images [n, channels, height, width] with labels [n] of at most 256 classes.
std::vector<WrittenShard> write_shards(const std::filesystem::path& folder,
                                       const ShardSetSpec& spec,
                                       std::span<const std::uint8_t> images,
                                       std::span<const std::uint8_t> labels, Overwrite overwrite);

}  // namespace quern
