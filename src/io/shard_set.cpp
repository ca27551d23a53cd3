// SPDX-License-Identifier: Apache-2.0
#include "io/shard_set.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "base/sha256.hpp"
#include "io/h5_file.hpp"
#include "io/shard_format.hpp"
#include "io/shard_header.hpp"

namespace quern {

namespace {

std::string quoted(const std::set<std::string>& words) {
  return fmt::format("'{}'", fmt::join(words, "', '"));
}

void keep_split(std::vector<ShardFile>& files, const std::filesystem::path& folder,
                const std::string& split) {
  std::set<std::string> splits;
  for (const ShardFile& file : files) splits.insert(file.says.split);
  if (split.empty()) {
    if (splits.size() > 1) {
      throw InputError(fmt::format("'{}' holds shards of the splits {}: say which is meant",
                                   folder.string(), quoted(splits)));
    }
    return;
  }
  if (!splits.contains(split)) {
    throw InputError(fmt::format("'{}' holds no shards of split '{}', only of {}", folder.string(),
                                 split, quoted(splits)));
  }
  std::erase_if(files, [&](const ShardFile& file) { return file.says.split != split; });
}

// For relative paths: most often the program was started elsewhere.
std::string seen_from(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  return folder.is_absolute() || error ? "" : fmt::format(" in '{}'", here.string());
}

// -> the files of one whole set in the order of their indices.
std::vector<ShardFile> find_set(const std::filesystem::path& folder, const std::string& split) {
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) {
    throw InputError(fmt::format("no folder '{}'{} ('quern shard' makes shards)", folder.string(),
                                 seen_from(folder)));
  }
  std::vector<ShardFile> files = list_shard_files(folder);
  if (files.empty()) {
    const bool holds_sets = std::filesystem::is_directory(folder / "train", error);
    throw InputError(fmt::format(
        "no shards in '{0}' ({1})", folder.string(),
        holds_sets ? "its folders train and test are data sets" : "'quern shard' makes them"));
  }
  keep_split(files, folder, split);
  std::set<std::string> names;
  std::set<std::string> counts;
  for (const ShardFile& file : files) {
    names.insert(file.says.name);
    counts.insert(std::to_string(file.says.count));
  }
  if (names.size() > 1) {
    throw InputError(
        fmt::format("'{}' holds shards of several data sets: {}", folder.string(), quoted(names)));
  }
  if (counts.size() > 1) {
    throw InputError(fmt::format("'{}' mixes shards of several sets: of {} shards", folder.string(),
                                 fmt::join(counts, " and of ")));
  }
  // The indices are sorted and no two files have the same name, so a gap is all that can be wrong.
  for (int index = 0; index < files[0].says.count; ++index) {
    const auto at = static_cast<std::size_t>(index);
    if (at >= files.size() || files[at].says.index != index) {
      ShardFileName missing = files[0].says;
      missing.index = index;
      throw InputError(
          fmt::format("shard '{}' is missing", (folder / to_string(missing)).string()));
    }
  }
  if (files.size() != static_cast<std::size_t>(files[0].says.count)) {
    throw InputError(fmt::format("'{}' is a shard too many", files.back().path.string()));
  }
  return files;
}

void check_agreement(const ShardFile& file, const ShardHeader& header, const ShardHeader& first,
                     std::int64_t expected_first_index) {
  const auto fail = [&](const std::string& what) {
    throw InputError(fmt::format("'{}': {}", file.path.string(), what));
  };
  if (header.total != first.total) {
    fail(fmt::format("total is {}, in the first shard {}", header.total, first.total));
  }
  if (header.classes != first.classes) {
    fail(fmt::format("classes is {}, in the first shard {}", header.classes, first.classes));
  }
  if (header.shape != first.shape) {
    fail(fmt::format("images have shape {}, in the first shard {}", to_string(header.shape),
                     to_string(first.shape)));
  }
  if (header.first_index != expected_first_index) {
    fail(fmt::format("first_index is {}, but the shards before hold {} samples", header.first_index,
                     expected_first_index));
  }
}

void check_sha256(const Shard& shard, const char* dataset, std::span<const std::uint8_t> bytes,
                  const std::string& expected) {
  const std::string actual = sha256(std::as_bytes(bytes));
  if (actual != expected) {
    throw UnusableError(fmt::format("'{}': dataset '{}' is damaged: its SHA-256 is {}, expected {}",
                                    shard.path.string(), dataset, actual, expected));
  }
}

}  // namespace

ShardSet ShardSet::open(const std::filesystem::path& folder, const std::string& split) {
  if (!split.empty() && !is_split(split)) {
    throw InputError(fmt::format("unknown split '{}', expected train or test", split));
  }
  const std::vector<ShardFile> files = find_set(folder, split);
  ShardSet set;
  ShardHeader first;
  for (const ShardFile& file : files) {
    const ShardHeader header = read_shard_header(file);
    if (set.shards_.empty()) first = header;
    check_agreement(file, header, first, set.count_);
    set.shards_.push_back(
        {file.path, header.first_index, header.count, header.sha256_images, header.sha256_labels});
    set.count_ += header.count;
  }
  if (set.count_ != first.total) {
    throw InputError(fmt::format("the shards in '{}' hold {} samples, expected {} (total)",
                                 folder.string(), set.count_, first.total));
  }
  set.name_ = files[0].says.name;
  set.split_ = first.split;
  set.shape_ = first.shape;
  set.classes_ = first.classes;
  return set;
}

std::string ShardSet::content_hash() const {
  std::string text =
      fmt::format("{} {}\nshape {} {} {}\nclasses {}\n", kShardFormat, kShardFormatVersion,
                  shape_.channels, shape_.height, shape_.width, classes_);
  for (const Shard& shard : shards_) {
    text += fmt::format("{} {} {}\n", shard.count, shard.sha256_images, shard.sha256_labels);
  }
  return sha256(text);
}

void ShardSet::read_into(std::span<std::uint8_t> images, std::span<std::uint8_t> labels) const {
  for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
    read_shard_into(shard, images, labels);
  }
}

void ShardSet::read_shard_into(std::size_t index, std::span<std::uint8_t> images,
                               std::span<std::uint8_t> labels) const {
  expect(index < shards_.size(), "the index of a shard");
  expect(static_cast<std::int64_t>(images.size()) == image_bytes() &&
             static_cast<std::int64_t>(labels.size()) == label_bytes(),
         "buffers of the size of the data set");
  const Shard& shard = shards_[index];
  const auto units = static_cast<std::size_t>(shape_.units());
  const auto first = static_cast<std::size_t>(shard.first_index);
  const auto count = static_cast<std::size_t>(shard.count);
  const auto shard_images = images.subspan(first * units, count * units);
  const auto shard_labels = labels.subspan(first, count);

  const H5File file = H5File::open_read(shard.path);
  file.read_dataset("/images", shard_images);
  file.read_dataset("/labels", shard_labels);
  check_sha256(shard, "/images", shard_images, shard.sha256_images);
  check_sha256(shard, "/labels", shard_labels, shard.sha256_labels);
  const auto wrong = std::find_if(shard_labels.begin(), shard_labels.end(),
                                  [&](std::uint8_t label) { return label >= classes_; });
  if (wrong != shard_labels.end()) {
    throw UnusableError(fmt::format(
        "'{}': label {} of sample {} is out of range, expected 0 to {}", shard.path.string(),
        *wrong, shard.first_index + (wrong - shard_labels.begin()), classes_ - 1));
  }
}

}  // namespace quern
