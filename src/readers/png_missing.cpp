// SPDX-License-Identifier: Apache-2.0
// Instead of png_reader.cpp where there is no libpng.
#include <fmt/format.h>

#include "base/error.hpp"
#include "readers/image.hpp"

namespace quern {

Image read_png(const std::filesystem::path& path, const std::vector<std::uint8_t>&) {
  throw InputError(
      fmt::format("'{}' is a PNG file, which this quern cannot read: it was built without libpng",
                  path.string()));
}

}  // namespace quern
