// SPDX-License-Identifier: Apache-2.0
#include "io/h5_version.hpp"

#include <hdf5.h>

namespace quern {

std::string hdf5_version() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  if (H5get_libversion(&major, &minor, &release) < 0) return "unknown";
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

}  // namespace quern
