// SPDX-License-Identifier: Apache-2.0
#include "io/shard_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/float16.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "io/h5_stored_type.hpp"
#include "io/shard_blocks.hpp"
#include "io/shard_format.hpp"

namespace quern {

namespace {

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

}  // namespace

void write_shard_file(const std::filesystem::path& path, const ShardSetName& set,
                      const ShardContent& content, const ShardRange& shard,
                      const ConstSampleArrays& samples, std::int64_t first, WrittenShard& written) {
  const StoredShard stored(content, samples, shard.first - first, shard.count);
  written.sha256_input = sha256(stored.input);
  if (content.answer != Answer::none) written.sha256_answer = sha256(stored.answer);
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
  const std::string sums = block_sums(content, block, kXxh3Digits, stored.input, stored.answer);
  file.write_stored(kBlockSums, H5Type::uint8, std::as_bytes(std::span(sums)),
                    std::array{static_cast<std::int64_t>(sums.size()) / kXxh3Digits, kXxh3Digits});
  file.write_string("/", "format", kShardFormat);
  file.write_int64("/", "format_version", format_version_of(content));
  file.write_string("/", "split", set.split);
  file.write_int64("/", "shard_index", shard.index);
  file.write_int64("/", "shard_count", set.num_shards);
  file.write_int64("/", "first_index", shard.first);
  file.write_int64("/", kBlockSamples, block);
  file.write_int64("/", "total", shard.total);
  if (content.has_labels()) file.write_int64("/", "classes", content.classes);
  if (!content.class_names.empty()) {
    file.write_string("/", "class_names", join_lines(content.class_names));
  }
  if (!content.feature_names.empty())
    file.write_string("/", "feature_names", join_lines(content.feature_names));
  const auto write_sha256 = [&](const char* array, const std::string& value) {
    file.write_string("/", fmt::format("sha256_{}", array), value);
  };
  write_sha256(content.input_name(), written.sha256_input);
  if (content.answer != Answer::none) write_sha256(content.answer_name(), written.sha256_answer);
  write_sha256("blocks", sha256(sums));
  file.flush_and_sync();
  file.close();
}

}  // namespace quern
