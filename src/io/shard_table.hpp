// SPDX-License-Identifier: Apache-2.0
// All that is known of the shards of a set: as one process finds it, and others are told.
#pragma once

#include <cstdint>
#include <filesystem>
#include <istream>
#include <string>
#include <vector>

#include "io/shard_content.hpp"

namespace quern {

struct Shard {
  std::filesystem::path path;
  std::int64_t first_index = 0;  ///< of its first sample in the set
  std::int64_t count = 0;        ///< samples
  std::string sha256_input;
  std::string sha256_answer;  ///< empty without an answer
  // Where they lie in the file.
  std::int64_t input_offset = 0;
  std::int64_t answer_offset = 0;
  std::int64_t block_samples = 0;  ///< 0: no checksums of blocks
  std::int64_t block_digits = 0;   ///< of each of them
  std::int64_t block_sums_offset = 0;
  std::string sha256_blocks;  ///< of all their checksums; empty without
};

/// The next part of a text that has its length in front: one that may hold anything. At most `most`
/// bytes, whatever the text says.
std::string read_part(std::istream& from, std::size_t most);

struct ShardTable {
  std::string name;  ///< of the set
  std::string split;
  ShardContent content;
  std::vector<Shard> shards;  ///< in order
  std::int64_t count = 0;     ///< samples of all of them

  void add(Shard shard);

  /// A text of the content and of the checksums of all shards, whatever the files are called. Its
  /// SHA-256 is in checkpoints.
  std::string content_text() const;

  /// A text of all but the folder.
  std::string text() const;
  /// The table of which text() made `text`, of shards in `folder`.
  static ShardTable parse(const std::filesystem::path& folder, const std::string& text);
};

}  // namespace quern
