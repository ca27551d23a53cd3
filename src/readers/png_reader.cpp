// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>

#include "base/error.hpp"
#include "readers/picture.hpp"

namespace quern {

Picture read_png(const std::filesystem::path& path, const std::vector<std::uint8_t>& bytes) {
  // libpng is content without the end, which a truncated file lacks.
  constexpr std::uint8_t kEnd[] = {0, 0, 0, 0, 'I', 'E', 'N', 'D', 0xae, 0x42, 0x60, 0x82};
  if (bytes.size() < sizeof(kEnd) ||
      !std::equal(std::begin(kEnd), std::end(kEnd), bytes.end() - sizeof(kEnd))) {
    throw InputError(
        fmt::format("'{}' is no whole PNG file: it does not end with IEND", path.string()));
  }
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  const auto fail = [&] {
    const std::string message = image.message;
    png_image_free(&image);
    throw InputError(fmt::format("'{}' is no whole PNG file: {}", path.string(), message));
  };
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) fail();
  const bool is_colour = (image.format & PNG_FORMAT_FLAG_COLOR) != 0;
  const bool has_alpha = (image.format & PNG_FORMAT_FLAG_ALPHA) != 0;
  const bool has_16_bits = (image.format & PNG_FORMAT_FLAG_LINEAR) != 0;
  const int channels = is_colour ? 3 : 1;
  const int stored = channels + (has_alpha ? 1 : 0);
  try {
    check_picture_size(path, image.width, image.height, stored, bytes.size());
  } catch (...) {
    png_image_free(&image);
    throw;
  }
  image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // 16 bits as they are, only fewer
  image.format = (is_colour ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY) |
                 (has_alpha ? static_cast<png_uint_32>(PNG_FORMAT_FLAG_ALPHA) : 0u);
  std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(image));
  if (png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr) == 0) fail();
  Picture picture{channels, static_cast<int>(image.height), static_cast<int>(image.width), {}, {}};
  std::vector<std::uint8_t> planes = to_planes(pixels, stored);
  const std::size_t kept =
      planes.size() / static_cast<std::size_t>(stored) * static_cast<std::size_t>(channels);
  picture.losses.depth = has_16_bits;
  const auto alpha = planes.begin() + static_cast<std::ptrdiff_t>(kept);  // the last plane
  picture.losses.transparency =
      std::any_of(alpha, planes.end(), [](std::uint8_t value) { return value != 255; });
  planes.resize(kept);
  picture.pixels = std::move(planes);
  return picture;
}

}  // namespace quern
