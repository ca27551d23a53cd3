// SPDX-License-Identifier: Apache-2.0
#include "io/shard_writer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <system_error>

#include "base/error.hpp"
#include "base/float16.hpp"
#include "base/sha256.hpp"
#include "io/h5_stored_type.hpp"
#include "io/pending_file.hpp"
#include "io/shard_blocks.hpp"
#include "io/shard_format.hpp"

namespace quern {

namespace {

bool is_name(const std::string& name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= 200 && name[0] != '.' && name[0] != '-' &&
         std::all_of(name.begin(), name.end(), allowed);
}

void check_set(const ShardSetName& set) {
  if (!is_name(set.name)) {
    throw InputError(fmt::format(
        "'{}' is not a name for shards, expected letters, digits, '.', '_' or '-'", set.name));
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

void check_labels(std::span<const std::int32_t> labels, const ShardContent& content) {
  const int most = content.answer_type == StoredType::uint8 ? kMaxByteClasses : kMaxClasses;
  if (content.classes < 1 || content.classes > most) {
    throw InputError(fmt::format("{} classes, expected 1 to {}", content.classes, most));
  }
  const auto wrong = std::find_if(labels.begin(), labels.end(), [&](std::int32_t label) {
    return label < 0 || label >= content.classes;
  });
  if (wrong == labels.end()) return;
  throw InputError(fmt::format("label {} of sample {} is out of range, expected 0 to {}", *wrong,
                               wrong - labels.begin(), content.classes - 1));
}

void check_class_names(const ShardContent& content) {
  if (!content.class_names.empty() &&
      content.class_names.size() != static_cast<std::size_t>(content.classes)) {
    throw InputError(
        fmt::format("{} names for {} classes", content.class_names.size(), content.classes));
  }
  for (const std::string& name : content.class_names) {
    if (!name.empty() && name.find_first_of(std::string("\n\0", 2)) == std::string::npos) continue;
    throw InputError(fmt::format("'{}' is no name for a class, expected one line of text", name));
  }
}

void check_finite(std::span<const float> values, const char* name, const Shape& shape,
                  StoredType stored) {
  constexpr float kTooLargeForHalf = 65520;  // rounds to infinity
  const auto is_good = [&](float value) {
    return std::isfinite(value) &&
           (stored != StoredType::float16 || std::abs(value) < kTooLargeForHalf);
  };
  const auto wrong = std::find_if_not(values.begin(), values.end(), is_good);
  if (wrong == values.end()) return;
  throw InputError(fmt::format("the {} of sample {} hold {}, expected finite {} numbers", name,
                               (wrong - values.begin()) / shape.units(), *wrong,
                               to_string(stored)));
}

void check_samples(const ShardSetName& set, const ShardContent& content, std::int64_t count,
                   const ConstSampleArrays& samples) {
  if (count < set.num_shards) {
    throw InputError(fmt::format("{} samples cannot fill {} shards", count, set.num_shards));
  }
  if (content.has_labels()) check_labels(samples.labels, content);
  check_class_names(content);
  check_finite(samples.values, "values", content.shape, content.input);
  check_finite(samples.targets, "targets", content.target_shape, content.answer_type);
}

// -> the shards that the new ones replace.
std::vector<ShardFile> check_folder(const std::filesystem::path& folder, const ShardSetName& set,
                                    Overwrite overwrite) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw InputError(fmt::format("cannot make folder '{}': {}", folder.string(), error.message()));
  }
  std::vector<ShardFile> old;
  for (const ShardFile& file : list_shard_files(folder)) {
    if (file.says.split != set.split) continue;
    if (file.says.name != set.name) {
      throw InputError(fmt::format("'{}' holds {} shards of another data set, '{}'",
                                   folder.string(), set.split, file.says.name));
    }
    if (overwrite == Overwrite::no) {
      throw InputError(
          fmt::format("'{}' exists already; --force replaces the whole set", file.path.string()));
    }
    old.push_back(file);
  }
  return old;
}

// The numbers of an array as they are stored. `stored` holds them where that is not how they lie in
// memory.
std::span<const std::byte> as_stored(std::span<const float> values, StoredType type,
                                     std::vector<std::byte>& stored) {
  if (type != StoredType::float16) return std::as_bytes(values);
  stored.resize(values.size() * sizeof(std::uint16_t));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t half = half_of_float(values[i]);
    std::memcpy(stored.data() + i * sizeof(half), &half, sizeof(half));
  }
  return stored;
}

std::span<const std::byte> as_stored(std::span<const std::int32_t> labels, StoredType type,
                                     std::vector<std::byte>& stored) {
  if (type != StoredType::uint8) return std::as_bytes(labels);
  stored.resize(labels.size());
  std::transform(labels.begin(), labels.end(), stored.begin(),
                 [](std::int32_t label) { return static_cast<std::byte>(label); });
  return stored;
}

// The stored bytes of the samples of one shard.
struct StoredShard {
  StoredShard(const ShardContent& content, const ConstSampleArrays& samples, std::int64_t first,
              std::int64_t count) {
    const auto part = [&](auto all, int units) {
      return all.subspan(static_cast<std::size_t>(first * units),
                         static_cast<std::size_t>(count * units));
    };
    const int units = content.shape.units();
    input = content.has_pixels()
                ? std::as_bytes(part(samples.images, units))
                : as_stored(part(samples.values, units), content.input, input_storage);
    if (content.has_labels()) {
      answer = as_stored(part(samples.labels, 1), content.answer_type, answer_storage);
    } else if (content.has_targets()) {
      answer = as_stored(part(samples.targets, content.target_shape.units()), content.answer_type,
                         answer_storage);
    }
  }

  std::span<const std::byte> input;
  std::span<const std::byte> answer;
  std::vector<std::byte> input_storage;
  std::vector<std::byte> answer_storage;
};

// A flat sample [f] makes an array [n, f].
std::vector<std::int64_t> array_shape(std::int64_t count, const Shape& shape, bool is_image) {
  if (!is_image && shape.is_flat()) return {count, shape.channels};
  return {count, shape.channels, shape.height, shape.width};
}

// One checksum after the other.
std::string block_sums(const ShardContent& content, std::int64_t block, std::int64_t count,
                       const StoredShard& stored) {
  std::string sums;
  for (std::int64_t first = 0; first < count; first += block) {
    const std::int64_t samples = std::min(block, count - first);
    const auto part = [&](std::span<const std::byte> bytes, std::int64_t sample_bytes) {
      return bytes.subspan(static_cast<std::size_t>(first * sample_bytes),
                           static_cast<std::size_t>(samples * sample_bytes));
    };
    sums += block_sum(part(stored.input, content.input_bytes()),
                      part(stored.answer, content.answer_bytes()));
  }
  return sums;
}

void write_shard(const std::filesystem::path& path, const ShardSetName& set,
                 const ShardContent& content, int index, std::int64_t total,
                 const WrittenShard& shard, const StoredShard& stored) {
  H5File file = H5File::create(path);
  const auto name = [](const char* array) { return fmt::format("/{}", array); };
  file.write_stored(name(content.input_name()), h5_type_of(content.input), stored.input,
                    array_shape(shard.count, content.shape, content.has_pixels()));
  if (content.has_labels()) {
    file.write_stored(name(content.answer_name()), h5_type_of(content.answer_type), stored.answer,
                      std::array{shard.count});
  } else if (content.has_targets()) {
    file.write_stored(name(content.answer_name()), h5_type_of(content.answer_type), stored.answer,
                      array_shape(shard.count, content.target_shape, false));
  }
  const std::int64_t block = std::min(block_samples_of(content), shard.count);
  const std::string sums = block_sums(content, block, shard.count, stored);
  file.write_stored(
      kBlockSums, H5Type::uint8, std::as_bytes(std::span(sums)),
      std::array{static_cast<std::int64_t>(sums.size()) / kBlockDigits, kBlockDigits});
  file.write_string("/", "format", kShardFormat);
  file.write_int64("/", "format_version", format_version_of(content));
  file.write_string("/", "split", set.split);
  file.write_int64("/", "shard_index", index);
  file.write_int64("/", "shard_count", set.num_shards);
  file.write_int64("/", "first_index", shard.first_index);
  file.write_int64("/", kBlockSamples, block);
  file.write_int64("/", "total", total);
  if (content.has_labels()) file.write_int64("/", "classes", content.classes);
  if (!content.class_names.empty()) {
    file.write_string("/", "class_names", fmt::format("{}", fmt::join(content.class_names, "\n")));
  }
  const auto write_sha256 = [&](const char* array, const std::string& value) {
    file.write_string("/", fmt::format("sha256_{}", array), value);
  };
  write_sha256(content.input_name(), shard.sha256_input);
  if (content.answer != Answer::none) write_sha256(content.answer_name(), shard.sha256_answer);
  write_sha256("blocks", sha256(sums));
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

std::vector<WrittenShard> write_shards(const std::filesystem::path& folder, const ShardSetName& set,
                                       const ShardContent& content,
                                       const ConstSampleArrays& samples, Overwrite overwrite) {
  check_set(set);
  const std::int64_t total = count_of(content, samples);
  check_samples(set, content, total, samples);
  const std::vector<ShardFile> old = check_folder(folder, set, overwrite);

  std::vector<PendingFile> pending;
  std::vector<WrittenShard> shards;
  for (int index = 0; index < set.num_shards; ++index) {
    const std::int64_t first = total * index / set.num_shards;
    const std::int64_t count = total * (index + 1) / set.num_shards - first;
    const StoredShard stored(content, samples, first, count);
    const auto path = folder / to_string({set.name, set.split, index, set.num_shards});
    shards.push_back({path, first, count, sha256(stored.input),
                      content.answer == Answer::none ? "" : sha256(stored.answer)});
    pending.emplace_back(path);
    write_shard(pending.back().temporary(), set, content, index, total, shards.back(), stored);
  }
  publish(pending, old);
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
