// SPDX-License-Identifier: Apache-2.0
// Images: a folder with a folder of them for each class, a folder of them, or one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "readers/array.hpp"
#include "readers/image.hpp"

namespace quern {

struct ImageFolder {
  std::int64_t count = 0;  ///< images in the folder
  SampleRange range;       ///< those that have been read
  /// uint8 [n, channels, height, width] of the range, class by class, each in the order of the
  /// names
  Array images;
  std::vector<std::string> files;        ///< [count], their paths
  std::vector<std::int32_t> labels;      ///< [count], numbers of class_names; empty without classes
  std::vector<std::string> class_names;  ///< sorted by their bytes
  std::string empty_class;               ///< the first one without images, if any
  /// Two names of which the first has the larger number, as "img_10.png" and "img_2.png"; of a
  /// class the first two, if any.
  std::pair<std::string, std::string> out_of_order;
  ImageLosses losses;  ///< of those that have been read
};

/// Reads PATH/CLASS/*.png, *.jpg, *.jpeg, or without classes PATH/*.png and so on, or the image
/// PATH; names that begin with a dot are left out. All images have the size of the first one.
/// Where any of the folder has colours, grey ones get three equal channels. InputError when a
/// folder holds anything else, or no image, or one cannot be read; SystemFailure where a disk or
/// a file server fails. A class may be empty, so that a held-out set can lack it. `choose`: which
/// images to read, beside the first and the headers of all as far as the first one with colours;
/// all if empty.
ImageFolder read_image_folder(const std::filesystem::path& path, const ChooseRange& choose = {});

/// Gives grey images [n, 1, height, width] three equal channels.
void to_colour(Array& images);

}  // namespace quern
