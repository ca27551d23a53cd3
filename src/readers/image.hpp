// SPDX-License-Identifier: Apache-2.0
// Images out of PNG and JPEG files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace quern {

/// What image files have that pixels of 8 bits in one or three channels do not.
struct ImageLosses {
  bool depth = false;         ///< 16 bits for each channel
  bool transparency = false;  ///< a pixel that is not opaque

  void add(const ImageLosses& more) {
    depth |= more.depth;
    transparency |= more.transparency;
  }
};

struct Image {
  int channels = 0;  ///< 1: grey, 3: red, green, blue
  int height = 0;
  int width = 0;
  std::vector<std::uint8_t> pixels;  ///< [channels, height, width]
  ImageLosses losses = {};
};

/// Does a file begin as one of the two formats?
bool begins_as_image(std::string_view bytes);

/// Can this program read files of this name (.png, .jpg, .jpeg, in any case)? It depends on the
/// libraries that it was built with.
bool is_image(const std::filesystem::path& path);

/// By its header, which alone is read: has it colours? Of files that are no such images it may
/// say anything. Fails where a file cannot be read.
bool is_colour_image(const std::filesystem::path& path);

/// InputError when it is no such file, truncated, damaged, or larger than its bytes can hold.
/// Palettes become colours, 16 bits become 8, transparency is left out.
Image read_image(const std::filesystem::path& path);

/// What was read of a file, for the two formats. `bytes` are the whole file.
Image read_png(const std::filesystem::path& path, const std::vector<std::uint8_t>& bytes);
Image read_jpeg(const std::filesystem::path& path, const std::vector<std::uint8_t>& bytes);

/// InputError for an image of no or too many pixels, or of more than its file can hold.
void check_image_size(const std::filesystem::path& path, std::int64_t width, std::int64_t height,
                      int channels, std::size_t file_bytes);

/// From rows of pixels, channels last, to planes.
std::vector<std::uint8_t> to_planes(const std::vector<std::uint8_t>& interleaved, int channels);

}  // namespace quern
