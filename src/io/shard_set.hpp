// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/shape.hpp"

namespace quern {

struct Shard {
  std::filesystem::path path;
  std::int64_t first_index = 0;
  std::int64_t count = 0;
  std::string sha256_images;
  std::string sha256_labels;
};

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

  const std::string& name() const { return name_; }
  const std::string& split() const { return split_; }
  std::int64_t count() const { return count_; }  ///< samples
  const Shape& shape() const { return shape_; }  ///< of one image
  int classes() const { return classes_; }
  std::int64_t image_bytes() const { return count_ * shape_.units(); }
  std::int64_t label_bytes() const { return count_; }
  const std::vector<Shard>& shards() const { return shards_; }

  /// SHA-256 of a text of shape, classes and the checksums of all shards: equal for equal data cut
  /// into equal shards, whatever the files are called.
  std::string content_hash() const;

  /// All that is known of the set, for processes that have not opened it.
  std::string table() const;

  /// Reads the shards that fall to worker `worker` of `num_workers` into their places in `images`
  /// (image_bytes of the whole set) and `labels` (label_bytes); opens no others. All workers
  /// together fill one copy. While this thread reads, up to `num_threads` others verify what has
  /// been read: UnusableError when a shard does not have its SHA-256 or a label is out of range,
  /// InputError when one cannot be read.
  void read_share(int worker, int num_workers, int num_threads, std::span<std::uint8_t> images,
                  std::span<std::uint8_t> labels) const;

 private:
  // Where a shard belongs.
  struct Place {
    std::span<std::uint8_t> images;
    std::span<std::uint8_t> labels;
  };

  ShardSet() = default;
  std::string content_text() const;
  void add(Shard shard);
  void verify(const Shard& shard, const Place& place) const;

  std::string name_;
  std::string split_;
  std::int64_t count_ = 0;
  Shape shape_;
  int classes_ = 0;
  std::vector<Shard> shards_;
};

}  // namespace quern
