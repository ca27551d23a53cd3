// SPDX-License-Identifier: Apache-2.0
#include "io/shard_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "base/error.hpp"
#include "base/sha256.hpp"
#include "io/h5_file.hpp"
#include "io/pending_file.hpp"
#include "io/shard_format.hpp"

namespace quern {

namespace {

using Bytes = std::span<const std::uint8_t>;

bool is_name(const std::string& name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= 200 && name[0] != '.' && name[0] != '-' &&
         std::all_of(name.begin(), name.end(), allowed);
}

void check_spec(const ShardSetSpec& spec) {
  if (!is_name(spec.name)) {
    throw InputError(fmt::format(
        "'{}' is not a name for shards, expected letters, digits, '.', '_' or '-'", spec.name));
  }
  if (!is_split(spec.split)) {
    throw InputError(fmt::format("unknown split '{}', expected train or test", spec.split));
  }
  if (spec.classes < 1 || spec.classes > kMaxClasses) {
    throw InputError(fmt::format("{} classes, expected 1 to {}", spec.classes, kMaxClasses));
  }
  if (spec.num_shards < 1 || spec.num_shards > kMaxShards) {
    throw InputError(fmt::format("{} shards, expected 1 to {}", spec.num_shards, kMaxShards));
  }
}

void check_data(const ShardSetSpec& spec, Bytes images, Bytes labels) {
  const auto units = static_cast<std::size_t>(spec.shape.units());
  if (images.size() != labels.size() * units) {
    throw InputError(fmt::format("{} images but {} labels", images.size() / std::max(units, {1}),
                                 labels.size()));
  }
  if (labels.size() < static_cast<std::size_t>(spec.num_shards)) {
    throw InputError(
        fmt::format("{} samples cannot fill {} shards", labels.size(), spec.num_shards));
  }
  const auto wrong = std::find_if(labels.begin(), labels.end(),
                                  [&](std::uint8_t label) { return label >= spec.classes; });
  if (wrong != labels.end()) {
    throw InputError(fmt::format("label {} of sample {} is out of range, expected 0 to {}", *wrong,
                                 wrong - labels.begin(), spec.classes - 1));
  }
}

// -> the shards that the new ones replace.
std::vector<ShardFile> check_folder(const std::filesystem::path& folder, const ShardSetSpec& spec,
                                    Overwrite overwrite) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw InputError(fmt::format("cannot make folder '{}': {}", folder.string(), error.message()));
  }
  std::vector<ShardFile> old;
  for (const ShardFile& file : list_shard_files(folder)) {
    if (file.says.split != spec.split) continue;
    if (file.says.name != spec.name) {
      throw InputError(fmt::format("'{}' holds {} shards of another data set, '{}'",
                                   folder.string(), spec.split, file.says.name));
    }
    if (overwrite == Overwrite::no) {
      throw InputError(
          fmt::format("'{}' exists already; --force replaces the whole set", file.path.string()));
    }
    old.push_back(file);
  }
  return old;
}

void write_shard(const std::filesystem::path& path, const ShardSetSpec& spec, int index,
                 std::int64_t total, const WrittenShard& shard, Bytes images, Bytes labels) {
  const Shape& shape = spec.shape;
  H5File file = H5File::create(path);
  file.write_dataset(
      "/images", images,
      std::array<std::int64_t, 4>{shard.count, shape.channels, shape.height, shape.width});
  file.write_dataset("/labels", labels, std::array<std::int64_t, 1>{shard.count});
  file.write_string("/", "format", kShardFormat);
  file.write_int64("/", "format_version", kShardFormatVersion);
  file.write_string("/", "split", spec.split);
  file.write_int64("/", "shard_index", index);
  file.write_int64("/", "shard_count", spec.num_shards);
  file.write_int64("/", "first_index", shard.first_index);
  file.write_int64("/", "total", total);
  file.write_int64("/", "classes", spec.classes);
  file.write_string("/", "sha256_images", shard.sha256_images);
  file.write_string("/", "sha256_labels", shard.sha256_labels);
  file.flush_and_sync();
  file.close();
}

// All or nothing, as far as a file system allows.
void publish(std::vector<PendingFile>& pending, const std::vector<ShardFile>& old) {
  for (const ShardFile& file : old) {
    std::error_code error;
    std::filesystem::remove(file.path, error);
    if (error) {
      throw Error(fmt::format("cannot remove '{}': {}", file.path.string(), error.message()));
    }
  }
  std::size_t published = 0;
  try {
    for (; published < pending.size(); ++published) pending[published].commit();
  } catch (...) {
    std::error_code ignored;
    for (std::size_t i = 0; i <= published; ++i) {
      std::filesystem::remove(pending[i].path(), ignored);
    }
    throw;
  }
}

}  // namespace

std::vector<WrittenShard> write_shards(const std::filesystem::path& folder,
                                       const ShardSetSpec& spec, Bytes images, Bytes labels,
                                       Overwrite overwrite) {
  check_spec(spec);
  check_data(spec, images, labels);
  const std::vector<ShardFile> old = check_folder(folder, spec, overwrite);

  const auto total = static_cast<std::int64_t>(labels.size());
  const auto units = static_cast<std::size_t>(spec.shape.units());
  std::vector<PendingFile> pending;
  std::vector<WrittenShard> shards;
  for (int index = 0; index < spec.num_shards; ++index) {
    const std::int64_t first = total * index / spec.num_shards;
    const std::int64_t last = total * (index + 1) / spec.num_shards;
    const auto begin = static_cast<std::size_t>(first);
    const auto count = static_cast<std::size_t>(last - first);
    const Bytes shard_images = images.subspan(begin * units, count * units);
    const Bytes shard_labels = labels.subspan(begin, count);
    const auto path = folder / to_string({spec.name, spec.split, index, spec.num_shards});
    shards.push_back({path, first, last - first, sha256(std::as_bytes(shard_images)),
                      sha256(std::as_bytes(shard_labels))});
    pending.emplace_back(path);
    write_shard(pending.back().temporary(), spec, index, total, shards.back(), shard_images,
                shard_labels);
  }
  publish(pending, old);
  return shards;
}

}  // namespace quern
