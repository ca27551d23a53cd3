// SPDX-License-Identifier: Apache-2.0
// Instead of jpeg_reader.cpp where there is no libjpeg.
#include <fmt/format.h>

#include "base/error.hpp"
#include "readers/image.hpp"

namespace quern {

Image read_jpeg(const std::filesystem::path& path, const std::vector<std::uint8_t>&) {
  throw InputError(
      fmt::format("'{}' is a JPEG file, which this quern cannot read: it was built without libjpeg",
                  path.string()));
}

}  // namespace quern
