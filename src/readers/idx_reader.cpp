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

constexpr std::size_t kFirstGrowth = 1 << 24;

enum class Content { images, labels };

struct IdxArray {
  std::vector<std::uint32_t> extents;
  std::vector<std::uint8_t> values;
  Sha256Match sha256 = Sha256Match::not_asked;
};

[[noreturn]] void fail(const ByteSource& source, const std::string& what) {
  throw InputError(fmt::format("'{}': {}", source.path().string(), what));
}

std::vector<std::uint32_t> read_extents(ByteSource& source, Content content) {
  const char* const expected = content == Content::images
                                   ? "00000803 or 00000804 (uint8 images in 3 or 4 dimensions)"
                                   : "00000801 (uint8 labels in 1 dimension)";
  std::array<std::uint8_t, 4> magic{};
  if (source.read(magic) < magic.size()) fail(source, "too short for an IDX file");
  const int rank = magic[3];
  const bool right_rank = content == Content::images ? rank == 3 || rank == 4 : rank == 1;
  if (magic[0] != 0 || magic[1] != 0 || magic[2] != 8 || !right_rank) {
    fail(source,
         fmt::format("wrong IDX magic number {:02x}, expected {}", fmt::join(magic, ""), expected));
  }
  std::vector<std::uint32_t> extents;
  for (int axis = 0; axis < rank; ++axis) {
    std::array<std::uint8_t, 4> b{};
    if (source.read(b) < b.size()) fail(source, "truncated in the IDX header");
    extents.push_back(std::uint32_t{b[0]} << 24 | std::uint32_t{b[1]} << 16 |
                      std::uint32_t{b[2]} << 8 | std::uint32_t{b[3]});
  }
  return extents;
}

std::uint64_t checked_size(const ByteSource& source, const std::vector<std::uint32_t>& extents) {
  const std::uint64_t header_bytes = 4 + 4 * extents.size();
  std::uint64_t size = 1;
  bool overflow = false;
  for (const std::uint32_t extent : extents) {
    if (extent == 0)
      fail(source, fmt::format("empty: its shape is [{}]", fmt::join(extents, ", ")));
    overflow = overflow || __builtin_mul_overflow(size, extent, &size);
  }
  if (overflow || size > source.longest_content() ||
      size + header_bytes > source.longest_content()) {
    fail(source, fmt::format("truncated: its shape is [{}], which is more than a file of its size "
                             "can hold",
                             fmt::join(extents, ", ")));
  }
  return size;
}

// Memory grows with what is really there, so a hostile gzip header cannot claim it all at once.
std::vector<std::uint8_t> read_values(ByteSource& source, const ByteStream& stream,
                                      std::uint64_t size, std::uint64_t first, std::uint64_t own) {
  stream.skip_all(first, "values");
  std::vector<std::uint8_t> values;
  while (values.size() < own) {
    const std::size_t have = values.size();
    values.resize(std::min<std::uint64_t>(own, std::max(2 * have, kFirstGrowth)));
    const std::size_t got = source.read(std::span(values).subspan(have));
    if (have + got < values.size()) {
      fail(source,
           fmt::format("truncated: {} bytes of values, expected {}", first + have + got, size));
    }
  }
  stream.skip_all(size - first - own, "values");
  std::array<std::uint8_t, 1> beyond{};
  if (source.read(beyond) != 0) {
    fail(source, fmt::format("trailing bytes after the {} bytes of values", size));
  }
  return values;
}

IdxArray read_idx(const std::filesystem::path& path, Content content,
                  const std::string& expected_sha256, const ChooseRange& choose) {
  check_is_sha256(expected_sha256);
  ByteSource source(path);
  const ByteStream stream = seekable_stream_of(source, expected_sha256);
  IdxArray array;
  array.extents = read_extents(source, content);
  const std::uint64_t size = checked_size(source, array.extents);
  const SampleRange range = chosen(choose, array.extents[0]);
  const std::uint64_t sample = size / array.extents[0];
  array.values = read_values(source, stream, size, static_cast<std::uint64_t>(range.first) * sample,
                             static_cast<std::uint64_t>(range.count) * sample);
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
