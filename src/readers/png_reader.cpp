// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <new>
#include <string>

#include <png.h>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "readers/image.hpp"

namespace quern {

namespace {

/// What libpng reads, and where it leaves to by longjmp.
struct Source {
  const std::uint8_t* next;
  std::size_t left;
  std::jmp_buf on_error;
  char message[128];
};

[[noreturn]] void leave(png_structp png, png_const_charp message) {
  auto* source = static_cast<Source*>(png_get_error_ptr(png));
  std::snprintf(source->message, sizeof(source->message), "%s", message);
  std::longjmp(source->on_error, 1);
}

void ignore(png_structp, png_const_charp) {}

void read_bytes(png_structp png, png_bytep to, std::size_t count) {
  auto* source = static_cast<Source*>(png_get_io_ptr(png));
  if (count > source->left) png_error(png, "it ends too early");
  std::memcpy(to, source->next, count);
  source->next += count;
  source->left -= count;
}

/// Of the file, before anything is converted.
struct Header {
  png_uint_32 width;
  png_uint_32 height;
  int depth;
  bool is_colour;
  bool has_alpha;  ///< a channel, or a colour that stands for transparent pixels
};

/// The parts that libpng may leave by longjmp: nothing in here has a destructor.
bool read_header(png_structp png, png_infop info, Source& source, Header& header) {
  if (setjmp(source.on_error) != 0) return false;
  png_set_read_fn(png, &source, read_bytes);
  png_read_info(png, info);
  int type = 0;
  png_get_IHDR(png, info, &header.width, &header.height, &header.depth, &type, nullptr, nullptr,
               nullptr);
  const bool has_key = png_get_valid(png, info, PNG_INFO_tRNS) != 0;
  header.is_colour = (type & PNG_COLOR_MASK_COLOR) != 0;
  header.has_alpha = (type & PNG_COLOR_MASK_ALPHA) != 0 || has_key;
  // Numbers stay as they are stored: no gamma is applied.
  png_set_scale_16(png);
  if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (type == PNG_COLOR_TYPE_GRAY && header.depth < 8) png_set_expand_gray_1_2_4_to_8(png);
  if (has_key) png_set_tRNS_to_alpha(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  return true;
}

bool read_rows(png_structp png, Source& source, png_bytepp rows) {
  if (setjmp(source.on_error) != 0) return false;
  png_read_image(png, rows);
  png_read_end(png, nullptr);
  return true;
}

/// Frees what libpng holds.
struct Decoder {
  png_structp png;
  png_infop info;
  explicit Decoder(Source& source)
      : png(png_create_read_struct(PNG_LIBPNG_VER_STRING, &source, leave, ignore)),
        info(png ? png_create_info_struct(png) : nullptr) {
    if (!info) throw std::bad_alloc();
  }
  ~Decoder() { png_destroy_read_struct(&png, &info, nullptr); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
};

}  // namespace

Image read_png(const std::filesystem::path& path, const std::vector<std::uint8_t>& bytes) {
  // libpng is content without the end, which a truncated file lacks.
  constexpr std::uint8_t kEnd[] = {0, 0, 0, 0, 'I', 'E', 'N', 'D', 0xae, 0x42, 0x60, 0x82};
  if (bytes.size() < sizeof(kEnd) ||
      !std::equal(std::begin(kEnd), std::end(kEnd), bytes.end() - sizeof(kEnd))) {
    throw InputError(
        fmt::format("'{}' is no whole PNG file: it does not end with IEND", path.string()));
  }
  Source source{bytes.data(), bytes.size(), {}, {}};
  const Decoder decoder(source);
  const auto expect_good = [&](bool is_good) {
    if (!is_good)
      throw InputError(fmt::format("'{}' is no whole PNG file: {}", path.string(),
                                   static_cast<const char*>(source.message)));
  };
  Header header{};
  expect_good(read_header(decoder.png, decoder.info, source, header));
  const int channels = header.is_colour ? 3 : 1;
  const int stored = channels + (header.has_alpha ? 1 : 0);
  check_image_size(path, header.width, header.height, stored, bytes.size());
  const std::size_t row_bytes = std::size_t{header.width} * static_cast<std::size_t>(stored);
  expect(png_get_rowbytes(decoder.png, decoder.info) == row_bytes, "a byte for each channel");
  std::vector<std::uint8_t> pixels(header.height * row_bytes);
  std::vector<png_bytep> rows(header.height);
  for (std::size_t row = 0; row < rows.size(); ++row) rows[row] = pixels.data() + row * row_bytes;
  expect_good(read_rows(decoder.png, source, rows.data()));
  Image image{channels, static_cast<int>(header.height), static_cast<int>(header.width), {}, {}};
  std::vector<std::uint8_t> planes = to_planes(pixels, stored);
  const std::size_t kept =
      planes.size() / static_cast<std::size_t>(stored) * static_cast<std::size_t>(channels);
  image.losses.depth = header.depth == 16;
  const auto alpha = planes.begin() + static_cast<std::ptrdiff_t>(kept);  // the last plane
  image.losses.transparency =
      std::any_of(alpha, planes.end(), [](std::uint8_t value) { return value != 255; });
  planes.resize(kept);
  image.pixels = std::move(planes);
  return image;
}

}  // namespace quern
