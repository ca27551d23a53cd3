// SPDX-License-Identifier: Apache-2.0
// Samples, labels or targets out of a file of any format that `quern shard` reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "readers/array.hpp"
#include "readers/checked_source.hpp"
#include "readers/csv_reader.hpp"
#include "readers/image.hpp"

namespace quern {

enum class FileFormat { idx, npy, npz, hdf5, csv, cifar10, cifar100, folder };

/// The names that --from takes, "idx" and so on; and "auto".
std::vector<std::string> file_format_names();

/// What an array is for.
enum class ArrayRole { input, labels, targets };

struct SampleSource {
  /// A path. Behind a colon the part of it that is meant, where the format has parts: an array of
  /// an .npz archive, a dataset of an HDF5 file ("FILE.h5:/group/x"), columns of a table
  /// ("FILE.csv:2-5", or by their names).
  std::string path = {};
  std::string format = "auto";  ///< of file_format_names(); "auto": by the file's content
  std::string sha256 = {};      ///< expected, may be empty
};

/// The path without the part of the file.
std::filesystem::path file_of(const SampleSource& source);

/// Those that are meant, where the file is a table. Reads no more than its first line. InputError.
std::optional<TableColumns> columns_of(const SampleSource& source);

struct SampleFile {
  std::int64_t count = 0;  ///< samples of the file
  SampleRange range;       ///< those that `array` has
  Array array;
  /// The class of each sample of the range where the format has it (CIFAR, folders); else empty.
  std::vector<std::int32_t> labels = {};
  int classes = 0;                            ///< that there are, 0 without labels
  std::vector<std::string> class_names = {};  ///< of folders
  std::vector<std::string> image_files = {};  ///< the file of each sample of the range, of images
  std::vector<std::string> all_image_files = {};  ///< the same of all samples of the file
  bool are_images = false;                        ///< PNG or JPEG files: uint8 [n, 1 or 3, h, w]
  std::string empty_class = {};                   ///< a folder without images, if any
  std::pair<std::string, std::string> out_of_order = {};  ///< as of ImageFolder
  ImageLosses losses = {};
  Sha256Match sha256 = Sha256Match::not_asked;
};

/// InputError when it is missing, of no such format, truncated, too long, damaged
/// or not what was expected. `choose`: which samples to keep. The others take no memory. Where a
/// format tells where they are, they are not read: not in packed files and where a SHA-256 is
/// expected. What tells how many samples it has at its end alone is then gone through twice: a
/// table, and CIFAR's records.
SampleFile read_sample_file(const SampleSource& source, ArrayRole role,
                            const ChooseRange& choose = {});

}  // namespace quern
