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
  Array images;  ///< uint8 [n, channels, height, width], class by class, each in the order of the
                 ///< names
  std::vector<std::int32_t> labels;      ///< [n], numbers of class_names
  std::vector<std::string> class_names;  ///< sorted by their bytes
};

/// Reads FOLDER/CLASS/*.png, *.jpg, *.jpeg; names that begin with a dot are left out. All pictures
/// have the size and the channels of the first one; where that has colours, grey ones get three
/// equal channels. InputError when a folder holds anything else, a class is empty, or a picture
/// cannot be read.
ImageFolder read_image_folder(const std::filesystem::path& folder);

}  // namespace quern
