// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "comm/session.hpp"

namespace quern {

/// Initialises MPI (calls from one thread at a time) and a communicator of all its ranks. The
/// session finalises it.
std::unique_ptr<CommSession> start_mpi();

/// The MPI library's name and version on one line. Works before MPI starts.
std::string mpi_version();

}  // namespace quern
