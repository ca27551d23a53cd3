// SPDX-License-Identifier: Apache-2.0
// Samples, labels or targets out of a file of any format that `quern shard` reads.
#pragma once

#include <string>
#include <vector>

#include "readers/array.hpp"
#include "readers/checked_source.hpp"

namespace quern {

enum class FileFormat { idx, npy, npz };

/// The names that --from takes, "idx" and so on; and "auto".
std::vector<std::string> file_format_names();

/// What an array is for.
enum class ArrayRole { input, labels, targets };

struct SampleSource {
  /// A path. Behind a colon the part of it that is meant, where the format has parts: an array of
  /// an .npz archive.
  std::string path = {};
  std::string format = "auto";  ///< of file_format_names(); "auto": by the file's content
  std::string sha256 = {};      ///< expected, may be empty
};

struct SampleFile {
  Array array;
  Sha256Match sha256 = Sha256Match::not_asked;
};

/// Reads everything. InputError when it is missing, of no such format, truncated, too long, damaged
/// or not what was expected.
SampleFile read_sample_file(const SampleSource& source, ArrayRole role);

}  // namespace quern
