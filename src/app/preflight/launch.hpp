// SPDX-License-Identifier: Apache-2.0
// The launch before MPI starts.
#pragma once

#include <string>

#include "app/preflight/info.hpp"
#include "comm/launch.hpp"

namespace quern {

/// Why these processes will not find each other; "" when they may. `mpi_library` as
/// mpi_library_version() tells.
std::string launch_problem(const Launch& launch, const std::string& mpi_library,
                           const EnvironmentLookup& lookup);

/// What the batch system's variables ask for.
JobInfo job_info(const EnvironmentLookup& lookup, int machine_cpus);

}  // namespace quern
