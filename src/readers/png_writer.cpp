// SPDX-License-Identifier: Apache-2.0
#include "readers/png_writer.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <string_view>
#include <vector>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "io/output_file.hpp"

namespace quern {

namespace {

void append_big_endian(std::vector<std::uint8_t>& bytes, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<std::uint8_t>(value >> shift));
  }
}

void append_chunk(std::vector<std::uint8_t>& file, std::string_view type,
                  std::span<const std::uint8_t> content) {
  append_big_endian(file, static_cast<std::uint32_t>(content.size()));
  const std::size_t begin = file.size();
  file.insert(file.end(), type.begin(), type.end());
  file.insert(file.end(), content.begin(), content.end());
  append_big_endian(
      file, static_cast<std::uint32_t>(crc32_z(0, file.data() + begin, file.size() - begin)));
}

}  // namespace

void write_png(const std::filesystem::path& path, int channels, int height, int width,
               std::span<const std::uint8_t> pixels) {
  const auto row_bytes = static_cast<std::size_t>(width) * static_cast<std::size_t>(channels);
  expect((channels == 1 || channels == 3) && height > 0 && width > 0 &&
             pixels.size() == row_bytes * static_cast<std::size_t>(height),
         "as many pixels as the image has");
  std::vector<std::uint8_t> rows;  // each behind the number of its filter, 0: none
  rows.reserve(pixels.size() + static_cast<std::size_t>(height));
  for (std::size_t begin = 0; begin < pixels.size(); begin += row_bytes) {
    rows.push_back(0);
    const auto row = pixels.subspan(begin, row_bytes);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  std::vector<std::uint8_t> packed(compressBound(rows.size()));
  uLongf size = packed.size();
  if (compress2(packed.data(), &size, rows.data(), rows.size(), Z_DEFAULT_COMPRESSION) != Z_OK) {
    throw Error("cannot pack an image");
  }
  std::vector<std::uint8_t> header;
  append_big_endian(header, static_cast<std::uint32_t>(width));
  append_big_endian(header, static_cast<std::uint32_t>(height));
  const std::uint8_t colour_type = channels == 1 ? 0 : 2;
  for (const std::uint8_t byte :
       {std::uint8_t{8}, colour_type, std::uint8_t{0}, std::uint8_t{0}, std::uint8_t{0}}) {
    header.push_back(byte);
  }
  std::vector<std::uint8_t> file = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  append_chunk(file, "IHDR", header);
  append_chunk(file, "IDAT", std::span(packed).first(size));
  append_chunk(file, "IEND", {});
  write_whole_file(path, {reinterpret_cast<const char*>(file.data()), file.size()});
}

}  // namespace quern
