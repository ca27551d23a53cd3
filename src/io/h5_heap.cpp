// SPDX-License-Identifier: Apache-2.0
#include "io/h5_heap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <span>

#include "base/system_failure.hpp"
#include "io/read_at.hpp"

namespace quern {

namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::array<std::uint8_t, 5> kSignature = {'G', 'C', 'O', 'L', 1};
constexpr std::size_t kHeader = 16;  // of a collection, and of each object in it
constexpr std::uint64_t kMostMetadata = std::uint64_t{1} << 30;

std::uint64_t little_endian(Bytes bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) value = value << 8 | bytes[i - 1];
  return value;
}

// -> whether the objects of a collection are as h5_complain_about_heaps() wants them.
bool is_sound(Bytes objects) {
  std::vector<bool> seen(std::numeric_limits<std::uint16_t>::max() + 1, false);
  std::size_t count = 0;
  while (objects.size() >= kHeader) {
    const auto index = static_cast<std::size_t>(little_endian(objects.first(2)));
    const std::uint64_t size = little_endian(objects.subspan(8, 8));
    if (index == 0) {
      if (size != objects.size()) return false;  // free space, header included
      break;
    }
    objects = objects.subspan(kHeader);
    if (seen[index] || size > objects.size()) return false;
    seen[index] = true;
    ++count;
    const Bytes text = objects.first(size);
    if (std::find(text.begin(), text.end(), 0) != text.end()) return false;
    objects = objects.subspan(std::min<std::uint64_t>((size + 7) / 8 * 8, objects.size()));
  }
  return std::count(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(count) + 1, true) ==
         static_cast<std::ptrdiff_t>(count);
}

// -> whether all collections in these bytes of the file are sound.
bool are_sound(Bytes bytes) {
  for (;;) {
    const auto found =
        std::search(bytes.begin(), bytes.end(), kSignature.begin(), kSignature.end());
    if (found == bytes.end()) return true;
    bytes = bytes.last(static_cast<std::size_t>(bytes.end() - found));
    if (bytes.size() < kHeader) return false;
    const std::uint64_t size = little_endian(bytes.subspan(8, 8));
    if (size < kHeader || size > bytes.size()) return false;
    if (!is_sound(bytes.subspan(kHeader, size - kHeader))) return false;
    bytes = bytes.subspan(size);
  }
}

// The gaps between the ranges of `data`.
std::vector<ByteRange> gaps(std::vector<ByteRange> data, std::uint64_t file_bytes) {
  std::sort(data.begin(), data.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  std::vector<ByteRange> gaps;
  std::uint64_t begin = 0;
  for (const ByteRange& range : data) {
    if (range.begin > begin) gaps.push_back({begin, range.begin});
    begin = std::max(begin, range.end);
  }
  if (file_bytes > begin) gaps.push_back({begin, file_bytes});
  return gaps;
}

}  // namespace

std::string h5_complain_about_heaps(const std::filesystem::path& path, int descriptor,
                                    std::uint64_t file_bytes, std::vector<ByteRange> data) {
  std::vector<std::uint8_t> bytes;
  for (const ByteRange& gap : gaps(std::move(data), file_bytes)) {
    if (gap.end - gap.begin > kMostMetadata) return "it has absurdly much metadata";
    bytes.resize(gap.end - gap.begin);
    errno = 0;
    if (read_at(descriptor, static_cast<std::int64_t>(gap.begin),
                std::as_writable_bytes(std::span(bytes))) != bytes.size()) {
      throw_system_failure(errno, fmt::format("cannot read '{}'", path.string()));
      return "it cannot be read";
    }
    if (!are_sound(bytes)) return "its text attributes are damaged";
  }
  return "";
}

}  // namespace quern
