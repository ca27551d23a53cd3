// SPDX-License-Identifier: Apache-2.0
// Starting and ending communication.
#pragma once

#include <memory>
#include <string>

#include "comm/communicator.hpp"
#include "comm/launch.hpp"

namespace quern {

enum class Transport {
  /// MPI when built with it and started by a launcher, or where the program has initialised it;
  /// else serial
  automatic,
  serial,
  mpi,
};

/// Owns the transport for the life of the program; everything that holds a Communicator& must be
/// gone before it. When it is destroyed by an exception the transport is not shut down in order,
/// because other ranks may never come to do the same.
class CommSession {
 public:
  CommSession() = default;
  virtual ~CommSession() = default;
  CommSession(const CommSession&) = delete;
  CommSession& operator=(const CommSession&) = delete;

  virtual Communicator& communicator() = 0;
};

/// Was this program built with MPI?
bool built_with_mpi();

/// The MPI library's name and version on one line; "" without MPI. Works before MPI starts.
std::string mpi_library_version();

/// Starts the transport, or takes the MPI that the program has initialised, and checks the launch
/// (check_launch in comm/launch_checks.hpp). Throws InputError when MPI is asked for in a build
/// without it or the number of ranks is not what the launcher started; that is the same on all
/// ranks, so only launch.rank 0 should print it.
std::unique_ptr<CommSession> start_communication(Transport transport,
                                                 const Launch& launch = read_launch());

/// The ranks of a communicator that the program has made, on a duplicate of it; all of them call.
/// `handle` is MPI_Comm_c2f(communicator), so that no header of MPI is needed here. InputError
/// without MPI, where the program has not initialised it, and for what is no group of ranks with
/// this one.
std::unique_ptr<CommSession> join_communicator(int handle);

}  // namespace quern
