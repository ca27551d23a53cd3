// SPDX-License-Identifier: Apache-2.0
// The words of the shard format, shared by writer and reader. docs/formats.md describes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace quern {

inline constexpr const char* kShardFormat = "quern-shard";
inline constexpr std::int64_t kShardFormatVersion = 2;  // the newest, see format_version_of
inline constexpr int kMaxShards = 99999;                // five digits in the file name
inline constexpr int kMaxByteClasses = 256;             // labels are uint8 up to here
inline constexpr int kMaxClasses = 1 << 24;             // and int32 above

/// What the name of a shard file says: "<name>-<split>-<index>-of-<count>.h5".
struct ShardFileName {
  std::string name;
  std::string split;
  int index = 0;
  int count = 0;
};

struct ShardFile {
  std::filesystem::path path;
  ShardFileName says;
};

bool is_split(const std::string& text);  ///< "train" or "test"

/// "fashion-mnist-train-00003-of-00008.h5"
std::string to_string(const ShardFileName& file_name);

/// Nothing when `file_name` is not that of a shard.
std::optional<ShardFileName> parse_shard_file_name(const std::string& file_name);

/// The shards of all sets in a folder, by their file names only, sorted by name, split, count and
/// index. InputError when the folder cannot be read.
std::vector<ShardFile> list_shard_files(const std::filesystem::path& folder);

}  // namespace quern
