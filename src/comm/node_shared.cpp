// SPDX-License-Identifier: Apache-2.0
#include "comm/node_shared.hpp"

#include <sys/statvfs.h>

#include <limits>

namespace quern {

std::int64_t free_shared_memory_bytes() {
  struct statvfs space {};
  if (statvfs("/dev/shm", &space) != 0) return std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(space.f_bavail) * static_cast<std::int64_t>(space.f_frsize);
}

}  // namespace quern
