// SPDX-License-Identifier: Apache-2.0
#include "io/shard_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "io/folder_files.hpp"
#include "io/sample_checks.hpp"
#include "io/shard_file.hpp"
#include "io/shard_format.hpp"

namespace quern {

namespace {

// With what is added to it, also while the file is written, it has to fit into the 255 bytes of a
// file's name.
constexpr std::size_t kLongestName = 120;

bool is_name(const std::string& name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= kLongestName && name[0] != '.' && name[0] != '-' &&
         std::all_of(name.begin(), name.end(), allowed);
}

void check_set(const ShardSetName& set) {
  if (!is_name(set.name)) {
    throw InputError(fmt::format(
        "'{}' is not a name for shards, expected at most {} letters, digits, '.', '_' or '-' "
        "(--name gives another)",
        set.name, kLongestName));
  }
  if (!is_split(set.split)) {
    throw InputError(fmt::format("unknown split '{}', expected train or test", set.split));
  }
  if (set.num_shards < 1 || set.num_shards > kMaxShards) {
    throw InputError(fmt::format("{} shards, expected 1 to {}", set.num_shards, kMaxShards));
  }
}

// -> samples.
std::int64_t count_of(const ShardContent& content, const ConstSampleArrays& samples) {
  const auto units = static_cast<std::size_t>(std::max(content.shape.units(), 1));
  const std::size_t size = content.has_pixels() ? samples.images.size() : samples.values.size();
  const std::size_t count = size / units;
  std::size_t answers = count;
  if (content.has_labels()) answers = samples.labels.size();
  if (content.has_targets()) {
    answers = samples.targets.size() /
              static_cast<std::size_t>(std::max(content.target_shape.units(), 1));
  }
  if (answers != count || count * units != size) {
    throw InputError(fmt::format("{} {} but {} {}", count, content.input_name(), answers,
                                 content.answer_name()));
  }
  return static_cast<std::int64_t>(count);
}

void check_classes(const ShardContent& content) {
  const int most = content.answer_type == StoredType::uint8 ? kMaxByteClasses : kMaxClasses;
  if (content.classes < 1 || content.classes > most) {
    throw InputError(fmt::format("{} classes, expected 1 to {}", content.classes, most));
  }
}

// -> the shards that the new ones replace.
std::vector<ShardFile> check_folder(const std::filesystem::path& folder, const ShardSetName& set,
                                    Overwrite overwrite) {
  std::vector<ShardFile> old;
  for (const ShardFile& file : list_shard_files(folder)) {
    if (file.says.split != set.split) continue;
    if (file.says.name != set.name) {
      throw InputError(fmt::format("'{}' holds {} shards of another data set, '{}'",
                                   folder.string(), set.split, printable(file.says.name)));
    }
    if (overwrite == Overwrite::no) {
      throw InputError(
          fmt::format("'{}' exists already; --force replaces the whole set", file.path.string()));
    }
    old.push_back(file);
  }
  return old;
}

}  // namespace

ShardSetWriter::ShardSetWriter(std::filesystem::path folder, ShardSetName set, ShardContent content,
                               std::int64_t total)
    : folder_(std::move(folder)),
      set_(std::move(set)),
      content_(std::move(content)),
      total_(total) {
  check_set(set_);
  if (total_ < set_.num_shards) {
    throw InputError(fmt::format("{} samples cannot fill {} shards", total_, set_.num_shards));
  }
  check_names(content_);
}

void ShardSetWriter::check(const ConstSampleArrays& samples, std::int64_t first,
                           const SampleOrigins& origins) const {
  if (content_.has_labels()) {
    check_classes(content_);
    refuse_input(origins.answers, find_wrong_label(samples.labels, content_.classes, first));
  }
  refuse_input(origins.inputs, find_not_finite(samples.values, "values", content_.shape.units(),
                                               first, content_.input));
  refuse_input(origins.answers,
               find_not_finite(samples.targets, "targets", content_.target_shape.units(), first,
                               content_.answer_type));
}

void ShardSetWriter::open_folder(Overwrite overwrite) {
  try {
    new_folders_->make(folder_);
  } catch (const std::filesystem::filesystem_error& error) {
    throw InputError(
        fmt::format("cannot make folder '{}': {}", folder_.string(), error.code().message()));
  }
  for (const ShardFile& file : check_folder(folder_, set_, overwrite)) old_.push_back(file.path);
  remove_stale_files(folder_, [&](const std::string& name) {
    const auto says = parse_shard_file_name(name);
    return says && says->name == set_.name && says->split == set_.split;
  });
}

WrittenShard ShardSetWriter::write(int index, const ConstSampleArrays& samples,
                                   std::int64_t first) {
  const std::int64_t begin = first_sample(index);
  const ShardRange range{index, begin, first_sample(index + 1) - begin, total_};
  WrittenShard shard;
  shard.path = folder_ / to_string({set_.name, set_.split, index, set_.num_shards});
  shard.first_index = range.first;
  shard.count = range.count;
  pending_.emplace_back(shard.path);
  write_shard_file(pending_.back().temporary(), set_, content_, range, samples, first, shard);
  return shard;
}

void ShardSetWriter::remove_old() {
  for (const std::filesystem::path& file : old_) {
    std::error_code error;
    std::filesystem::remove(file, error);
    if (error) throw Error(fmt::format("cannot remove '{}': {}", file.string(), error.message()));
  }
}

void ShardSetWriter::publish() {
  try {
    for (; published_ < pending_.size(); ++published_) pending_[published_].commit();
  } catch (...) {
    ++published_;  // it may have got its name
    withdraw();
    throw;
  }
}

void ShardSetWriter::withdraw() {
  std::error_code ignored;
  for (std::size_t i = 0; i < published_; ++i) std::filesystem::remove(pending_[i].path(), ignored);
  published_ = 0;
}

std::vector<WrittenShard> write_shards(const std::filesystem::path& folder, const ShardSetName& set,
                                       const ShardContent& content,
                                       const ConstSampleArrays& samples, Overwrite overwrite) {
  ShardSetWriter writer(folder, set, content, count_of(content, samples));
  writer.check(samples, 0);
  writer.open_folder(overwrite);
  std::vector<WrittenShard> shards;
  for (int index = 0; index < set.num_shards; ++index)
    shards.push_back(writer.write(index, samples, 0));
  writer.remove_old();
  writer.publish();
  return shards;
}

std::vector<WrittenShard> write_shards(const std::filesystem::path& folder,
                                       const ShardSetSpec& spec,
                                       std::span<const std::uint8_t> images,
                                       std::span<const std::uint8_t> labels, Overwrite overwrite) {
  ShardContent content;
  content.shape = spec.shape;
  content.classes = spec.classes;
  const std::vector<std::int32_t> wide_labels(labels.begin(), labels.end());
  return write_shards(folder, {spec.name, spec.split, spec.num_shards}, content,
                      {.images = images, .labels = wide_labels}, overwrite);
}

}  // namespace quern
