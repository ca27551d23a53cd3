// SPDX-License-Identifier: Apache-2.0
#include "io/shard_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <initializer_list>
#include <limits>
#include <optional>
#include <vector>

#include "base/ceil_div.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "io/h5_stored_type.hpp"
#include "io/shard_blocks.hpp"

namespace quern {

namespace {

[[noreturn]] void fail(const H5File& file, const std::string& what) {
  throw InputError(fmt::format("'{}': {}", file.path().string(), what));
}

std::int64_t read_number(const H5File& file, const char* name, std::int64_t low,
                         std::int64_t high) {
  const std::int64_t value = file.read_int64("/", name);
  if (value < low || value > high) {
    fail(file, fmt::format("attribute '{}' is {}, expected {} to {}", name, value, low, high));
  }
  return value;
}

std::string read_sha256(const H5File& file, const std::string& name) {
  std::string value = file.read_string("/", name);
  if (value.size() != 64 || value.find_first_not_of("0123456789abcdef") != std::string::npos) {
    fail(file, fmt::format("attribute '{}' is not a SHA-256, expected 64 hexadecimal digits in "
                           "lower case",
                           name));
  }
  return value;
}

// -> format_version.
std::int64_t check_format(const H5File& file) {
  if (!file.has_attribute("/", "format")) fail(file, "not a shard: no attribute 'format'");
  const std::string format = file.read_string("/", "format");
  if (format != kShardFormat) {
    fail(file, fmt::format("format is '{}', expected '{}'", printable(format), kShardFormat));
  }
  const std::int64_t version = file.read_int64("/", "format_version");
  if (version < 1 || version > kShardFormatVersion) {
    fail(file, fmt::format("format_version is {}, this program reads 1 to {}", version,
                           kShardFormatVersion));
  }
  return version;
}

void check_file_name(const H5File& file, const ShardFileName& says, const ShardHeader& header) {
  if (says.split != header.split || says.index != header.shard_index ||
      says.count != header.shard_count) {
    fail(file, fmt::format("the file says it is shard {} of {} of split '{}', its name disagrees",
                           header.shard_index, header.shard_count, printable(header.split)));
  }
}

struct Dataset {
  std::string path;
  H5DatasetInfo info;
};

/// Of one of these types, or InputError that states what was `expected`.
StoredType stored_type(const H5File& file, const Dataset& dataset,
                       std::initializer_list<StoredType> allowed, const std::string& expected) {
  for (const StoredType type : allowed) {
    if (dataset.info.type == h5_type_of(type) &&
        (bytes_of(type) == 1 || dataset.info.is_little_endian)) {
      return type;
    }
  }
  fail(file,
       fmt::format("dataset '{}' is of {}{} with shape [{}], expected {}", dataset.path,
                   dataset.info.is_little_endian ? "" : "big-endian ", to_string(dataset.info.type),
                   fmt::join(dataset.info.shape, ", "), expected));
}

void expect_rank(const H5File& file, const Dataset& dataset, std::size_t rank,
                 const std::string& expected) {
  if (dataset.info.shape.size() == rank) return;
  fail(file,
       fmt::format("dataset '{}' is of {} with shape [{}], expected {}", dataset.path,
                   to_string(dataset.info.type), fmt::join(dataset.info.shape, ", "), expected));
}

Shape sample_shape(const H5File& file, const Dataset& dataset) {
  const std::optional<Shape> shape = shape_of_sample(dataset.info.shape);
  // Every element is in the file, so unless there are none these extents are sane.
  if (dataset.info.elements == 0 || !shape) {
    fail(file, fmt::format("dataset '{}' has shape [{}], which no data set has", dataset.path,
                           fmt::join(dataset.info.shape, ", ")));
  }
  return *shape;
}

void read_input(const H5File& file, ShardHeader& header, std::int64_t version) {
  const bool has_values = version > 1 && file.has_dataset("/values");
  if (has_values && file.has_dataset("/images")) {
    fail(file, "both '/images' and '/values', expected one of them");
  }
  Dataset input{has_values ? "/values" : "/images", {}};
  input.info = file.dataset_info(input.path);
  const char* const expected = has_values ? "float32 or float16 [n, ...], little-endian"
                                          : "uint8 [n, channels, height, width]";
  header.content.input =
      has_values ? stored_type(file, input, {StoredType::float32, StoredType::float16}, expected)
                 : stored_type(file, input, {StoredType::uint8}, expected);
  if (!has_values) expect_rank(file, input, 4, expected);
  header.content.shape = sample_shape(file, input);
  header.shard.count = input.info.shape[0];
  header.shard.input_offset = input.info.offset;
  header.shard.sha256_input =
      read_sha256(file, fmt::format("sha256_{}", header.content.input_name()));
}

void read_labels(const H5File& file, ShardHeader& header, const Dataset& labels,
                 std::int64_t version) {
  const std::string expected = version > 1 ? "uint8 or int32 [n], little-endian" : "uint8 [n]";
  header.content.answer_type =
      version > 1 ? stored_type(file, labels, {StoredType::uint8, StoredType::int32}, expected)
                  : stored_type(file, labels, {StoredType::uint8}, expected);
  expect_rank(file, labels, 1, expected);
  const int most = header.content.answer_type == StoredType::uint8 ? kMaxByteClasses : kMaxClasses;
  header.content.classes = static_cast<int>(read_number(file, "classes", 1, most));
  if (!file.has_attribute("/", "class_names")) return;
  // Earlier programs took the names of folders as they were, in any encoding.
  header.content.class_names = split_lines(as_utf8(file.read_string("/", "class_names")));
  if (static_cast<int>(header.content.class_names.size()) == header.content.classes) return;
  fail(file,
       fmt::format("attribute 'class_names' has {} lines, expected one for each of {} classes",
                   header.content.class_names.size(), header.content.classes));
}

void read_feature_names(const H5File& file, ShardHeader& header) {
  if (!file.has_attribute("/", "feature_names")) return;
  ShardContent& content = header.content;
  content.feature_names = split_lines(as_utf8(file.read_string("/", "feature_names")));
  if (std::ssize(content.feature_names) == content.shape.units()) return;
  fail(file,
       fmt::format("attribute 'feature_names' has {} lines, expected one for each of {} numbers of "
                   "a sample",
                   content.feature_names.size(), content.shape.units()));
}

void read_answer(const H5File& file, ShardHeader& header, std::int64_t version) {
  ShardContent& content = header.content;
  const bool has_targets = version > 1 && file.has_dataset("/targets");
  const bool has_labels = version == 1 || file.has_dataset("/labels");
  if (has_targets && has_labels) {
    fail(file, "both '/labels' and '/targets', expected at most one of them");
  }
  content.answer = has_targets ? Answer::targets : (has_labels ? Answer::labels : Answer::none);
  if (content.answer == Answer::none) return;
  Dataset answer{fmt::format("/{}", content.answer_name()), {}};
  answer.info = file.dataset_info(answer.path);
  if (has_targets) {
    content.answer_type =
        stored_type(file, answer, {StoredType::float32}, "float32 [n, ...], little-endian");
    content.target_shape = sample_shape(file, answer);
  } else {
    read_labels(file, header, answer, version);
  }
  if (answer.info.shape[0] != header.shard.count) {
    fail(file, fmt::format("{} {} but {} {}", header.shard.count, content.input_name(),
                           answer.info.shape[0], content.answer_name()));
  }
  header.shard.answer_offset = answer.info.offset;
  header.shard.sha256_answer = read_sha256(file, fmt::format("sha256_{}", content.answer_name()));
}

// Shards may come without.
void read_blocks(const H5File& file, ShardHeader& header) {
  if (!file.has_dataset(kBlockSums)) return;
  const Dataset sums{kBlockSums, file.dataset_info(kBlockSums)};
  const std::int64_t samples = read_number(file, kBlockSamples, 1, header.shard.count);
  const std::int64_t blocks = ceil_div(header.shard.count, samples);
  const auto has_digits = [&](std::int64_t digits) {
    return sums.info.shape == std::vector<std::int64_t>{blocks, digits};
  };
  if (sums.info.type != H5Type::uint8 || (!has_digits(kXxh3Digits) && !has_digits(kSha256Digits))) {
    fail(file, fmt::format("dataset '{}' is of {} with shape [{}], expected uint8 [{}, {} or {}]",
                           sums.path, to_string(sums.info.type), fmt::join(sums.info.shape, ", "),
                           blocks, kXxh3Digits, kSha256Digits));
  }
  header.shard.block_samples = samples;
  header.shard.block_digits = sums.info.shape[1];
  header.shard.block_sums_offset = sums.info.offset;
  header.shard.sha256_blocks = read_sha256(file, "sha256_blocks");
}

}  // namespace

ShardHeader read_shard_header(const ShardFile& shard) {
  const H5File file = H5File::open_read(shard.path);
  const std::int64_t version = check_format(file);
  ShardHeader header;
  header.shard.path = shard.path;
  header.split = file.read_string("/", "split");
  header.shard_count = read_number(file, "shard_count", 1, kMaxShards);
  header.shard_index = read_number(file, "shard_index", 0, header.shard_count - 1);
  check_file_name(file, shard.says, header);
  header.total = read_number(file, "total", 1, std::numeric_limits<std::int64_t>::max());
  header.shard.first_index = read_number(file, "first_index", 0, header.total - 1);
  read_input(file, header, version);
  read_feature_names(file, header);
  read_answer(file, header, version);
  read_blocks(file, header);
  return header;
}

}  // namespace quern
