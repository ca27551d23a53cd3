// SPDX-License-Identifier: Apache-2.0
#include "io/shard_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "base/error.hpp"
#include "io/h5_file.hpp"

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

std::string read_sha256(const H5File& file, const char* name) {
  std::string value = file.read_string("/", name);
  if (value.size() != 64 || value.find_first_not_of("0123456789abcdef") != std::string::npos) {
    fail(file, fmt::format("attribute '{}' is not a SHA-256, expected 64 hexadecimal digits in "
                           "lower case",
                           name));
  }
  return value;
}

void check_format(const H5File& file) {
  if (!file.has_attribute("/", "format")) fail(file, "not a shard: no attribute 'format'");
  const std::string format = file.read_string("/", "format");
  if (format != kShardFormat) {
    fail(file, fmt::format("format is '{}', expected '{}'", format, kShardFormat));
  }
  const std::int64_t version = file.read_int64("/", "format_version");
  if (version != kShardFormatVersion) {
    fail(file,
         fmt::format("format_version is {}, this program reads {}", version, kShardFormatVersion));
  }
}

void check_file_name(const H5File& file, const ShardFileName& says, const ShardHeader& header) {
  if (says.split != header.split || says.index != header.shard_index ||
      says.count != header.shard_count) {
    fail(file, fmt::format("the file says it is shard {} of {} of split '{}', its name disagrees",
                           header.shard_index, header.shard_count, header.split));
  }
}

H5DatasetInfo read_info(const H5File& file, const char* path, std::size_t rank,
                        const char* expected) {
  H5DatasetInfo info = file.dataset_info(path);
  if (info.type != H5Type::uint8 || info.shape.size() != rank) {
    fail(file, fmt::format("dataset '{}' is of {} with shape [{}], expected uint8 {}", path,
                           to_string(info.type), fmt::join(info.shape, ", "), expected));
  }
  return info;
}

void read_shapes(const H5File& file, ShardHeader& header) {
  const H5DatasetInfo images = read_info(file, "/images", 4, "[n, channels, height, width]");
  const H5DatasetInfo labels = read_info(file, "/labels", 1, "[n]");
  header.count = images.shape[0];
  if (labels.shape[0] != header.count) {
    fail(file, fmt::format("{} images but {} labels", header.count, labels.shape[0]));
  }
  // Every element is in the file, so unless there are none these extents are sane.
  if (images.elements == 0 || images.elements / header.count > std::numeric_limits<int>::max()) {
    fail(file, fmt::format("dataset '/images' has shape [{}], which no data set has",
                           fmt::join(images.shape, ", ")));
  }
  const auto extent = [&](std::size_t axis) { return static_cast<int>(images.shape[axis]); };
  header.shape = {extent(1), extent(2), extent(3)};
}

}  // namespace

ShardHeader read_shard_header(const ShardFile& shard) {
  const H5File file = H5File::open_read(shard.path);
  check_format(file);
  ShardHeader header;
  header.split = file.read_string("/", "split");
  header.shard_count = read_number(file, "shard_count", 1, kMaxShards);
  header.shard_index = read_number(file, "shard_index", 0, header.shard_count - 1);
  check_file_name(file, shard.says, header);
  header.total = read_number(file, "total", 1, std::numeric_limits<std::int64_t>::max());
  header.first_index = read_number(file, "first_index", 0, header.total - 1);
  header.classes = static_cast<int>(read_number(file, "classes", 1, kMaxClasses));
  header.sha256_images = read_sha256(file, "sha256_images");
  header.sha256_labels = read_sha256(file, "sha256_labels");
  read_shapes(file, header);
  return header;
}

}  // namespace quern
