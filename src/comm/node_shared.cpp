// SPDX-License-Identifier: Apache-2.0
#include "comm/node_shared.hpp"

#include <sys/statvfs.h>

#include <cstdlib>
#include <limits>

namespace quern {

std::int64_t free_shared_memory_bytes() {
  const char* of_open_mpi = std::getenv("OMPI_MCA_osc_sm_backing_directory");
  struct statvfs space {};
  if (statvfs(of_open_mpi ? of_open_mpi : "/dev/shm", &space) != 0)
    return std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(space.f_bavail) * static_cast<std::int64_t>(space.f_frsize);
}

}  // namespace quern
