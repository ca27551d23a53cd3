// SPDX-License-Identifier: Apache-2.0
// IDX, the format of MNIST: two zero bytes, a type code (8: uint8), the number of dimensions, each
// extent as a big-endian uint32, then the values, row-major. Plain or gzip. (LeCun, Cortes, Burges,
// "The MNIST database of handwritten digits", 1998.)
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/shape.hpp"
#include "readers/array.hpp"
#include "readers/checked_source.hpp"

namespace quern {

struct IdxImages {
  std::int64_t count = 0;            ///< of those that are held
  Shape shape;                       ///< of one image; [1, h, w] for a file of [n, h, w]
  std::vector<std::uint8_t> pixels;  ///< [count, channels, height, width]
  Sha256Match sha256 = Sha256Match::not_asked;
};

struct IdxLabels {
  std::vector<std::uint8_t> labels;
  Sha256Match sha256 = Sha256Match::not_asked;
};

/// Images of any size, from [n, h, w] or [n, c, h, w]. `expected_sha256` (64 hexadecimal digits)
/// may be that of the file or of its unpacked content; empty: not checked. InputError when the
/// file is missing, no IDX file of this kind, truncated, too long, damaged or another one than
/// expected.
IdxImages read_idx_images(const std::filesystem::path& path,
                          const std::string& expected_sha256 = "", const ChooseRange& choose = {});

/// Labels from [n].
IdxLabels read_idx_labels(const std::filesystem::path& path,
                          const std::string& expected_sha256 = "", const ChooseRange& choose = {});

}  // namespace quern
