// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "io/shard_content.hpp"
#include "io/shard_table.hpp"

namespace quern {

/// All shards of one split in a folder, validated as a whole.
class ShardSet {
 public:
  /// The set of which another process made `table` by table(). Opens nothing.
  ShardSet(const std::filesystem::path& folder, const std::string& table);

  /// `split`: "train", "test", or empty for whichever the folder holds. Reads attributes and
  /// shapes, no data. InputError when a file is no shard of this format, one is missing or there
  /// twice, they contradict each other, the folder holds several data sets, or both splits and
  /// `split` is empty.
  static ShardSet open(const std::filesystem::path& folder, const std::string& split);

  const std::string& name() const { return table_.name; }
  const std::string& split() const { return table_.split; }
  std::int64_t count() const { return table_.count; }  ///< samples
  const ShardContent& content() const { return table_.content; }
  const Shape& shape() const { return table_.content.shape; }  ///< of one sample
  int classes() const { return table_.content.classes; }       ///< 0 without labels
  /// What is read for the whole set.
  std::int64_t stored_bytes() const {
    return count() * (content().input_bytes() + content().answer_bytes());
  }
  const std::vector<Shard>& shards() const { return table_.shards; }

  /// SHA-256 of a text of the content and the checksums of all shards: equal for equal data cut
  /// into equal shards, whatever the files are called.
  std::string content_hash() const;

  /// Opens one of its files: InputError when it cannot be read here, or is another one than the set
  /// was opened with. Reads attributes and shapes, no data.
  void check_file(std::size_t index) const;

  /// All that is known of the set, for processes that have not opened it.
  std::string table() const { return table_.text(); }

  /// Reads the shards that fall to worker `worker` of `num_workers` into their places in `arrays`,
  /// which have room for the whole set; opens no others. All workers together fill one copy. Half
  /// precision and labels of bytes are widened. While this thread reads, up to `num_threads` others
  /// verify what has been read: UnusableError when a shard does not have its SHA-256, a label is
  /// out of range or a value is not finite, InputError when one cannot be read. The shards before
  /// the one numbered `begin` come last.
  void read_share(int worker, int num_workers, int num_threads, const SampleArrays& arrays,
                  std::size_t begin = 0) const;

  /// Reads and verifies one shard of the set into the beginning of `arrays`; errors as above.
  void read_shard(const Shard& shard, const SampleArrays& arrays) const;

 private:
  explicit ShardSet(ShardTable table) : table_(std::move(table)) {}

  ShardTable table_;
};

}  // namespace quern
