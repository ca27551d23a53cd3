// SPDX-License-Identifier: Apache-2.0
#include "readers/image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
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

// The first bytes of a file, and no more of it.
class FileStart {
 public:
  explicit FileStart(const std::filesystem::path& path) : path_(path) {
    file_.rdbuf()->pubsetbuf(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    errno = 0;
    file_.open(path, std::ios::binary);
    if (!file_) fail_reading(path_, errno);
  }

  template <std::size_t N>
  bool read(std::array<std::uint8_t, N>& bytes) {
    errno = 0;
    file_.read(reinterpret_cast<char*>(bytes.data()), N);
    if (file_.bad()) fail_reading(path_, errno);
    return static_cast<bool>(file_);
  }
  bool skip(std::streamoff bytes) { return static_cast<bool>(file_.seekg(bytes, std::ios::cur)); }

 private:
  std::filesystem::path path_;
  std::array<char, 512> buffer_{};  // before the file, which uses it
  std::ifstream file_;
};

// Of a JPEG file, from behind its first two bytes on: the number of channels in the header of the
// frame, 0 where there is none. In front of it there may be thumbnails, with frames of their own.
int jpeg_channels(FileStart& file) {
  std::array<std::uint8_t, 1> byte{};
  std::array<std::uint8_t, 2> length{};
  while (file.read(byte) && byte[0] == 0xff) {
    while (byte[0] == 0xff)
      if (!file.read(byte)) return 0;
    const int marker = byte[0];
    if (!file.read(length)) return 0;
    const int segment = 256 * length[0] + length[1];
    const bool is_frame =
        marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    if (is_frame) {
      std::array<std::uint8_t, 6> frame{};  // bits, height, width, channels
      return file.read(frame) ? frame.back() : 0;
    }
    if (segment < 2 || !file.skip(segment - 2)) return 0;
  }
  return 0;
}

}  // namespace

bool is_image(const std::filesystem::path& path) {
  const std::string extension = lower_extension(path);
  return extension == ".png" || extension == ".jpg" || extension == ".jpeg";
}

bool begins_as_image(std::string_view bytes) {
  return bytes.starts_with("\x89P") || bytes.starts_with("\xff\xd8\xff");
}

bool is_colour_image(const std::filesystem::path& path) {
  FileStart file(path);
  std::array<std::uint8_t, 2> start{};
  if (!file.read(start)) return false;
  if (start[0] == 0xff && start[1] == 0xd8) return jpeg_channels(file) == 3;
  // The rest of the signature, and the header as far as its colours.
  std::array<std::uint8_t, 24> png{};
  constexpr int kColourBit = 2;
  return start[0] == 0x89 && file.read(png) && (png.back() & kColourBit) != 0;
}

Image read_image(const std::filesystem::path& path) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;
  ByteSource source(path);
  const ByteStream stream = stream_of(source);
  if (source.is_gzip() || stream.longest > kMaxBytes) stream.fail("no image");
  const std::vector<std::uint8_t> bytes = stream.read_bytes(stream.longest, "values");
  // By the first bytes: names are wrong often enough.
  if (bytes.size() >= 4 && bytes[0] == 0x89 && bytes[1] == 'P') return read_png(path, bytes);
  if (bytes.size() >= 4 && bytes[0] == 0xff && bytes[1] == 0xd8) return read_jpeg(path, bytes);
  stream.fail("neither a PNG nor a JPEG file");
}

void check_image_size(const std::filesystem::path& path, std::int64_t width, std::int64_t height,
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
  throw InputError(fmt::format("'{}': an image of {} x {} pixels in {} bytes", path.string(), width,
                               height, file_bytes));
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
