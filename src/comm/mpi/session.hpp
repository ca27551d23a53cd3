// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "comm/session.hpp"

namespace quern {

/// Has somebody initialised MPI in this process, and nobody finalised it?
bool mpi_is_running();

/// A communicator of all ranks of MPI. Initialises it (calls from one thread at a time), and the
/// session finalises it, unless the program has done so: that one must offer MPI_THREAD_FUNNELED.
/// Error where MPI has been finalised.
std::unique_ptr<CommSession> start_mpi();

/// join_communicator() of comm/session.hpp.
std::unique_ptr<CommSession> join_mpi(int handle);

/// The MPI library's name and version on one line. Works before MPI starts.
std::string mpi_version();

}  // namespace quern
