// SPDX-License-Identifier: Apache-2.0
#include "io/shard_set.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <future>
#include <set>
#include <sstream>
#include <utility>

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
    set.add(
        {file.path, header.first_index, header.count, header.sha256_images, header.sha256_labels});
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

void ShardSet::add(Shard shard) {
  count_ += shard.count;
  shards_.push_back(std::move(shard));
}

std::string ShardSet::content_text() const {
  std::string text =
      fmt::format("{} {}\nshape {} {} {}\nclasses {}\n", kShardFormat, kShardFormatVersion,
                  shape_.channels, shape_.height, shape_.width, classes_);
  for (const Shard& shard : shards_) {
    text += fmt::format("{} {} {}\n", shard.count, shard.sha256_images, shard.sha256_labels);
  }
  return text;
}

std::string ShardSet::content_hash() const {
  return sha256(content_text());
}

// A name may hold anything, so its length comes first.
std::string ShardSet::table() const {
  return fmt::format("{} {} {} {}\n", split_, shards_.size(), name_.size(), name_) + content_text();
}

ShardSet::ShardSet(const std::filesystem::path& folder, const std::string& table) {
  std::istringstream text(table);
  ShardFileName file;
  std::size_t length = 0;
  text >> file.split >> file.count >> length;
  text.ignore(1);
  file.name.resize(std::min(length, table.size()));
  text.read(file.name.data(), static_cast<std::streamsize>(file.name.size()));
  std::string word;
  std::int64_t version = 0;
  text >> word >> version >> word >> shape_.channels >> shape_.height >> shape_.width >> word >>
      classes_;
  for (; file.index < file.count && text; ++file.index) {
    Shard shard{folder / to_string(file), count_, 0, "", ""};
    text >> shard.count >> shard.sha256_images >> shard.sha256_labels;
    add(std::move(shard));
  }
  name_ = file.name;
  split_ = file.split;
  expect(!text.fail() && this->table() == table, "a table that ShardSet::table() has made");
}

void ShardSet::read_share(int worker, int num_workers, int num_threads,
                          std::span<std::uint8_t> images, std::span<std::uint8_t> labels) const {
  expect(worker >= 0 && worker < num_workers, "a worker out of those that exist");
  expect(static_cast<std::int64_t>(images.size()) == image_bytes() &&
             static_cast<std::int64_t>(labels.size()) == label_bytes(),
         "buffers of the size of the data set");
  const auto units = static_cast<std::size_t>(shape_.units());
  const auto step = static_cast<std::size_t>(num_workers);
  std::deque<std::future<void>> checks;
  const auto finish_checks = [&](std::size_t most_left) {
    while (checks.size() > most_left) {
      std::future<void> oldest = std::move(checks.front());
      checks.pop_front();
      oldest.get();
    }
  };
  for (auto index = static_cast<std::size_t>(worker); index < shards_.size(); index += step) {
    const Shard& shard = shards_[index];
    const auto first = static_cast<std::size_t>(shard.first_index);
    const auto count = static_cast<std::size_t>(shard.count);
    const Place place{images.subspan(first * units, count * units), labels.subspan(first, count)};
    const H5File file = H5File::open_read(shard.path);
    file.read_dataset("/images", place.images);
    file.read_dataset("/labels", place.labels);
    finish_checks(static_cast<std::size_t>(std::max(num_threads, 1) - 1));
    // Deferred where no thread can be had.
    checks.push_back(std::async(std::launch::async | std::launch::deferred,
                                [this, &shard, place] { verify(shard, place); }));
  }
  finish_checks(0);
}

void ShardSet::verify(const Shard& shard, const Place& place) const {
  check_sha256(shard, "/images", place.images, shard.sha256_images);
  check_sha256(shard, "/labels", place.labels, shard.sha256_labels);
  const auto wrong = std::find_if(place.labels.begin(), place.labels.end(),
                                  [&](std::uint8_t label) { return label >= classes_; });
  if (wrong != place.labels.end()) {
    throw UnusableError(fmt::format(
        "'{}': label {} of sample {} is out of range, expected 0 to {}", shard.path.string(),
        *wrong, shard.first_index + (wrong - place.labels.begin()), classes_ - 1));
  }
}

}  // namespace quern
