// SPDX-License-Identifier: Apache-2.0
#include "comm/session.hpp"

#include <string>

#include "base/error.hpp"
#include "comm/launch_checks.hpp"
#include "comm/serial/communicator.hpp"
#ifdef QUERN_HAVE_MPI
#include "comm/mpi/session.hpp"
#endif

namespace quern {

namespace {

// One rank, alone.
class SerialSession : public CommSession {
 public:
  Communicator& communicator() override { return communicator_; }

 private:
  SerialCommunicator communicator_;
};

std::unique_ptr<CommSession> start(Transport transport, const Launch& launch) {
#ifdef QUERN_HAVE_MPI
  const bool wants_mpi =
      transport == Transport::mpi ||
      (transport == Transport::automatic && (launch.under_launcher || mpi_is_running()));
  if (wants_mpi) return start_mpi();
#else
  if (transport == Transport::mpi) {
    throw InputError(
        "MPI was asked for, but this quern was built without it (QUERN_ENABLE_MPI=OFF)");
  }
#endif
  if (transport == Transport::serial && launch.size.value_or(1) > 1) {
    throw InputError("one rank was asked for (serial), but " + std::to_string(*launch.size) +
                     " processes were started (" + launch.size_variable + ")");
  }
  return std::make_unique<SerialSession>();
}

}  // namespace

bool built_with_mpi() {
#ifdef QUERN_HAVE_MPI
  return true;
#else
  return false;
#endif
}

std::string mpi_library_version() {
#ifdef QUERN_HAVE_MPI
  return mpi_version();
#else
  return "";
#endif
}

std::unique_ptr<CommSession> start_communication(Transport transport, const Launch& launch) {
  std::unique_ptr<CommSession> session = start(transport, launch);
  check_launch(launch, session->communicator().size());
  return session;
}

std::unique_ptr<CommSession> join_communicator(int handle) {
#ifdef QUERN_HAVE_MPI
  return join_mpi(handle);
#else
  throw InputError("communicator " + std::to_string(handle) +
                   " of MPI was given, but this quern was built without it (QUERN_ENABLE_MPI=OFF)");
#endif
}

}  // namespace quern
