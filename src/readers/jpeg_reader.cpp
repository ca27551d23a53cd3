// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <csetjmp>
#include <cstddef>
#include <cstdio>  // jpeglib.h needs it

#include <jpeglib.h>

#include <string>

#include "base/error.hpp"
#include "readers/image.hpp"

namespace quern {

namespace {

/// libjpeg reports by calling back; an error must not return.
struct Errors {
  jpeg_error_mgr manager;
  std::jmp_buf on_error;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void leave(j_common_ptr info) {
  auto* errors = reinterpret_cast<Errors*>(info->err);
  info->err->format_message(info, errors->message);
  std::longjmp(errors->on_error, 1);
}

/// A warning (truncated, damaged) is an error: what follows would be made up.
void warn(j_common_ptr info, int level) {
  if (level < 0) leave(info);
}

/// The part that libjpeg may leave by longjmp: nothing in here has a destructor.
bool decode(jpeg_decompress_struct& info, Errors& errors, const std::vector<std::uint8_t>& bytes,
            bool is_header_only, std::uint8_t* pixels) {
  if (setjmp(errors.on_error) != 0) return false;
  if (is_header_only) {
    jpeg_create_decompress(&info);
    jpeg_mem_src(&info, bytes.data(), static_cast<unsigned long>(bytes.size()));
    jpeg_read_header(&info, TRUE);
    info.out_color_space = info.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
    return true;
  }
  jpeg_start_decompress(&info);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = pixels + std::size_t{info.output_scanline} * info.output_width *
                                static_cast<std::size_t>(info.output_components);
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  return true;
}

/// Frees what libjpeg holds.
struct Decompressor {
  jpeg_decompress_struct info{};
  Errors errors{};
  Decompressor() {
    info.err = jpeg_std_error(&errors.manager);
    errors.manager.error_exit = leave;
    errors.manager.emit_message = warn;
  }
  ~Decompressor() { jpeg_destroy_decompress(&info); }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
};

}  // namespace

Image read_jpeg(const std::filesystem::path& path, const std::vector<std::uint8_t>& bytes) {
  Decompressor jpeg;
  const auto expect_good = [&](bool good) {
    if (good) return;
    throw InputError(fmt::format("'{}' is no whole JPEG file: {}", path.string(),
                                 std::string(jpeg.errors.message)));
  };
  expect_good(decode(jpeg.info, jpeg.errors, bytes, true, nullptr));
  if (jpeg.info.num_components == 4)
    throw InputError(fmt::format(
        "'{}' has the four colours of print (CMYK), expected grey or red, green and blue",
        path.string()));
  const int channels = jpeg.info.out_color_space == JCS_GRAYSCALE ? 1 : 3;
  check_image_size(path, jpeg.info.image_width, jpeg.info.image_height, channels, bytes.size());
  Image image{channels,
              static_cast<int>(jpeg.info.image_height),
              static_cast<int>(jpeg.info.image_width),
              {},
              {}};
  std::vector<std::uint8_t> pixels(std::size_t{jpeg.info.image_height} * jpeg.info.image_width *
                                   static_cast<std::size_t>(channels));
  expect_good(decode(jpeg.info, jpeg.errors, bytes, false, pixels.data()));
  image.pixels = to_planes(pixels, channels);
  return image;
}

}  // namespace quern
