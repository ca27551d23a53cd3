// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/new_folders.hpp"
#include "io/pending_file.hpp"
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
  std::string name = {};
  std::string split = {};
  int num_shards = 1;
};

struct WrittenShard {
  std::filesystem::path path;
  std::int64_t first_index = 0;
  std::int64_t count = 0;
  std::string sha256_input;
  std::string sha256_answer;
};

/// The files that samples come from, for messages: quoted, or empty where there are none.
struct SampleOrigins {
  std::string inputs;
  std::string answers;
};

enum class Overwrite { no, yes };

/// Writes a set alone, or its own shards of one that several processes write together. Each does
/// all that is marked "each" for itself and waits for the others after every call; one of them does
/// the rest. Files that have not been published are removed at the end.
class ShardSetWriter {
 public:
  /// Each. `total`: samples of the whole set. InputError for what no set can be.
  ShardSetWriter(std::filesystem::path folder, ShardSetName set, ShardContent content,
                 std::int64_t total);

  /// The first sample of a shard; of index num_shards: their number.
  std::int64_t first_sample(int index) const { return total_ * index / set_.num_shards; }

  /// Each. InputError unless the values of its samples are finite (also after rounding to float16)
  /// and the labels in range. `samples` are those of the set from the one numbered `first` on.
  void check(const ConstSampleArrays& samples, std::int64_t first,
             const SampleOrigins& origins = {}) const;

  /// One. Makes the folder. InputError where it holds another data set of the split, or shards of
  /// this one without Overwrite::yes.
  void open_folder(Overwrite overwrite);

  /// Each. Writes a shard, which gets its name later.
  WrittenShard write(int index, const ConstSampleArrays& samples, std::int64_t first);

  /// One, after everybody has written: removes the shards that open_folder() has found.
  void remove_old();

  /// Each. What was written gets its name, or nothing has: Error.
  void publish();

  /// Each, when publish() has failed elsewhere.
  void withdraw();

 private:
  std::filesystem::path folder_;
  ShardSetName set_;
  ShardContent content_;
  std::int64_t total_;
  std::vector<std::filesystem::path> old_;
  // Removed where nothing has come into them; after pending_, whose files lie there.
  std::unique_ptr<NewFolders> new_folders_ = std::make_unique<NewFolders>();
  std::vector<PendingFile> pending_;
  std::size_t published_ = 0;
};

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
