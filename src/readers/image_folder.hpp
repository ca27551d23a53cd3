// SPDX-License-Identifier: Apache-2.0
// A folder with a folder of pictures for each class.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "readers/array.hpp"

namespace quern {

struct ImageFolder {
  std::int64_t count = 0;  ///< pictures in the folder
  SampleRange range;       ///< those that have been read
  /// uint8 [n, channels, height, width] of the range, class by class, each in the order of the
  /// names
  Array images;
  std::vector<std::int32_t> labels;      ///< [count], numbers of class_names
  std::vector<std::string> class_names;  ///< sorted by their bytes
};

/// Reads FOLDER/CLASS/*.png, *.jpg, *.jpeg; names that begin with a dot are left out. All pictures
/// have the size and the channels of the first one; where that has colours, grey ones get three
/// equal channels. InputError when a folder holds anything else, a class is empty, or a picture
/// cannot be read. `choose`: which pictures to read, beside the first; all if empty.
ImageFolder read_image_folder(const std::filesystem::path& folder, const ChooseRange& choose = {});

}  // namespace quern
