// SPDX-License-Identifier: Apache-2.0
#include "readers/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/error.hpp"
#include "base/shape.hpp"
#include "base/text.hpp"
#include "readers/byte_source.hpp"
#include "readers/byte_stream.hpp"
#include "readers/checked_source.hpp"

namespace quern {

namespace {

std::string lower_extension(const std::filesystem::path& path) {
  return lower_case(path.extension().string());
}

// Of a JPEG file, from behind its first two bytes on: the number of channels in the header of the
// frame, 0 where there is none. In front of it there may be thumbnails, with frames of their own.
int jpeg_channels(ByteSource& source) {
  std::array<std::uint8_t, 1> byte{};
  std::array<std::uint8_t, 2> length{};
  while (source.read(byte) == 1 && byte[0] == 0xff) {
    while (byte[0] == 0xff)
      if (source.read(byte) < 1) return 0;
    const int marker = byte[0];
    if (source.read(length) < 2) return 0;
    const std::uint64_t segment = 256u * length[0] + length[1];
    const bool is_frame =
        marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    if (is_frame) {
      std::array<std::uint8_t, 6> frame{};  // bits, height, width, channels
      return source.read(frame) == frame.size() ? frame.back() : 0;
    }
    if (segment < 2 || source.skip(segment - 2) < segment - 2) return 0;
  }
  return 0;
}

}  // namespace

bool is_picture(const std::filesystem::path& path) {
  const std::string extension = lower_extension(path);
  return extension == ".png" || extension == ".jpg" || extension == ".jpeg";
}

bool begins_as_picture(std::string_view bytes) {
  return bytes.starts_with("\x89P") || bytes.starts_with("\xff\xd8\xff");
}

bool is_colour_picture(const std::filesystem::path& path) {
  ByteSource source(path);
  if (source.is_gzip()) return false;
  std::array<std::uint8_t, 2> start{};
  if (source.read(start) < start.size()) return false;
  if (start[0] == 0xff && start[1] == 0xd8) return jpeg_channels(source) == 3;
  std::array<std::uint8_t, 24>
      png{};  // the rest of the signature, the header as far as its colours
  constexpr int kColourBit = 2;
  return start[0] == 0x89 && source.read(png) == png.size() && (png.back() & kColourBit) != 0;
}

Picture read_picture(const std::filesystem::path& path) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;
  ByteSource source(path);
  const ByteStream stream = stream_of(source);
  if (source.is_gzip() || stream.longest > kMaxBytes) stream.fail("no picture");
  const auto bytes = read_numbers<std::uint8_t>(stream, stream.longest, 1,
                                                [](const std::uint8_t* byte) { return *byte; });
  // By the first bytes: names are wrong often enough.
  if (bytes.size() >= 4 && bytes[0] == 0x89 && bytes[1] == 'P') return read_png(path, bytes);
  if (bytes.size() >= 4 && bytes[0] == 0xff && bytes[1] == 0xd8) return read_jpeg(path, bytes);
  stream.fail("neither a PNG nor a JPEG file");
}

void check_picture_size(const std::filesystem::path& path, std::int64_t width, std::int64_t height,
                        int channels, std::size_t file_bytes) {
  constexpr std::int64_t kMaxSide = 65500;  // of a JPEG file
  // An even surface in JPEG: a few bits for a block of 8 x 8; in PNG: 1032 bytes in one.
  constexpr std::int64_t kMostPerByte = 2048;
  const bool is_sane = width >= 1 && height >= 1 && width <= kMaxSide && height <= kMaxSide &&
                       width * height * channels <= kMaxUnits;
  if (is_sane &&
      width * height * channels / kMostPerByte <= static_cast<std::int64_t>(file_bytes)) {
    return;
  }
  throw InputError(fmt::format("'{}': a picture of {} x {} pixels in {} bytes", path.string(),
                               width, height, file_bytes));
}

std::vector<std::uint8_t> to_planes(const std::vector<std::uint8_t>& interleaved, int channels) {
  if (channels == 1) return interleaved;
  const auto count = static_cast<std::size_t>(channels);
  const std::size_t plane = interleaved.size() / count;
  std::vector<std::uint8_t> planes(interleaved.size());
  for (std::size_t i = 0; i < interleaved.size(); ++i) {
    planes[i % count * plane + i / count] = interleaved[i];
  }
  return planes;
}

}  // namespace quern
