// SPDX-License-Identifier: Apache-2.0
// Private to io/: a check that HDF5 leaves out. Strings of variable length lie in "global heap
// collections", the only part of our files without a checksum, and the library (1.10 at least)
// copies from there without looking at the sizes: a flipped bit would crash the program.
// HDF5 File Format Specification 3.0, III.E "Disk Format: Level 1E - Global Heap".
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace quern {

/// Bytes [begin, end) of a file.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Looks at all global heap collections of an open file outside `data` (the raw data of datasets;
/// `path` is for messages). -> a
/// complaint unless each is well formed, holds its objects 1 to n once each, and all of them are
/// text. (A size that grew would take in padding or the next object's header, which have zeros.)
std::string h5_complain_about_heaps(const std::filesystem::path& path, int descriptor,
                                    std::uint64_t file_bytes, std::vector<ByteRange> data);

}  // namespace quern
