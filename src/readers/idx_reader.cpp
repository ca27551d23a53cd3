// SPDX-License-Identifier: Apache-2.0
#include "readers/idx_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.hpp"
#include "readers/byte_source.hpp"

namespace quern {

namespace {

enum class Content { images, labels };

struct IdxArray {
  std::vector<std::uint32_t> extents;
  std::vector<std::uint8_t> values;
  Sha256Match sha256 = Sha256Match::not_asked;
};

std::vector<std::uint32_t> read_extents(const ByteStream& stream, Content content) {
  const char* const expected = content == Content::images
                                   ? "00000803 or 00000804 (uint8 images in 3 or 4 dimensions)"
                                   : "00000801 (uint8 labels in 1 dimension)";
  std::array<std::uint8_t, 4> magic{};
  if (stream.read(magic) < magic.size()) stream.fail("too short for an IDX file");
  const int rank = magic[3];
  const bool right_rank = content == Content::images ? rank == 3 || rank == 4 : rank == 1;
  if (magic[0] != 0 || magic[1] != 0 || magic[2] != 8 || !right_rank) {
    stream.fail(
        fmt::format("wrong IDX magic number {:02x}, expected {}", fmt::join(magic, ""), expected));
  }
  std::vector<std::uint32_t> extents;
  for (int axis = 0; axis < rank; ++axis) {
    std::array<std::uint8_t, 4> b{};
    if (stream.read(b) < b.size()) stream.fail("truncated in the IDX header");
    extents.push_back(std::uint32_t{b[0]} << 24 | std::uint32_t{b[1]} << 16 |
                      std::uint32_t{b[2]} << 8 | std::uint32_t{b[3]});
  }
  return extents;
}

std::uint64_t checked_size(const ByteStream& stream, const std::vector<std::uint32_t>& extents) {
  const std::uint64_t header_bytes = 4 + 4 * extents.size();
  std::uint64_t size = 1;
  bool overflow = false;
  for (const std::uint32_t extent : extents) {
    if (extent == 0) stream.fail(fmt::format("empty: its shape is [{}]", fmt::join(extents, ", ")));
    overflow = overflow || __builtin_mul_overflow(size, extent, &size);
  }
  if (overflow || size > stream.longest || size + header_bytes > stream.longest) {
    stream.fail(
        fmt::format("truncated: its shape is [{}], which is more than a file of its size "
                    "can hold",
                    fmt::join(extents, ", ")));
  }
  return size;
}

IdxArray read_idx(const std::filesystem::path& path, Content content,
                  const std::string& expected_sha256, const ChooseRange& choose) {
  check_is_sha256(expected_sha256);
  ByteSource source(path);
  const ByteStream stream = seekable_stream_of(source, expected_sha256);
  IdxArray array;
  array.extents = read_extents(stream, content);
  const std::uint64_t size = checked_size(stream, array.extents);
  const SampleRange range = chosen(choose, array.extents[0]);
  const std::uint64_t sample = size / array.extents[0];
  const std::uint64_t first = static_cast<std::uint64_t>(range.first) * sample;
  const std::uint64_t own = static_cast<std::uint64_t>(range.count) * sample;
  const std::string values = fmt::format("{} bytes of values", size);
  stream.skip_all(first, values);
  array.values = stream.read_bytes(own, values);
  stream.skip_all(size - first - own, values);
  stream.expect_end(values);
  array.extents[0] = static_cast<std::uint32_t>(range.count);
  array.sha256 = match_sha256(source, expected_sha256);
  return array;
}

Shape image_shape(const std::filesystem::path& path, const std::vector<std::uint32_t>& extents) {
  std::uint64_t units = 1;  // the values are in memory, so this product cannot overflow
  for (std::size_t axis = 1; axis < extents.size(); ++axis) units *= extents[axis];
  if (units > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    throw InputError(fmt::format("'{}': images of {} values are too large", path.string(), units));
  }
  const auto extent = [&](std::size_t axis) { return static_cast<int>(extents[axis]); };
  if (extents.size() == 3) return {1, extent(1), extent(2)};
  return {extent(1), extent(2), extent(3)};
}

}  // namespace

IdxImages read_idx_images(const std::filesystem::path& path, const std::string& expected_sha256,
                          const ChooseRange& choose) {
  IdxArray array = read_idx(path, Content::images, expected_sha256, choose);
  return {array.extents[0], image_shape(path, array.extents), std::move(array.values),
          array.sha256};
}

IdxLabels read_idx_labels(const std::filesystem::path& path, const std::string& expected_sha256,
                          const ChooseRange& choose) {
  IdxArray array = read_idx(path, Content::labels, expected_sha256, choose);
  return {std::move(array.values), array.sha256};
}

}  // namespace quern
