// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/session.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <exception>
#include <string>

#include "base/error.hpp"
#include "comm/mpi/communicator.hpp"

namespace quern {

namespace {

const char* const kThreadLevelHint =
    "; quern needs an MPI library with at least MPI_THREAD_FUNNELED";

void initialise_mpi() {
  int initialised = 0;
  MpiCaller caller{0, "start"};
  caller.check(MPI_Initialized(&initialised), "MPI_Initialized");
  if (initialised) throw Error("MPI is already running in this process");
  int provided = 0;
  caller.check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided),
               "MPI_Init_thread");
  if (provided < MPI_THREAD_FUNNELED) {
    throw Error("MPI offers thread level " + std::to_string(provided) + kThreadLevelHint);
  }
  caller.check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN),
               "MPI_Comm_set_errhandler");
}

class MpiSession final : public CommSession {
 public:
  MpiSession() : communicator_(MPI_COMM_WORLD), library_(mpi_version()) {}

  ~MpiSession() override {
    // One rank that fails must not wait for the others in collective calls.
    if (std::uncaught_exceptions() > exceptions_at_start_) return;
    communicator_.release();
    communicator_.caller().check_quietly(MPI_Finalize(), "MPI_Finalize");
  }

  Communicator& communicator() override { return communicator_; }
  const char* transport() const override { return "mpi"; }
  const std::string& library() const override { return library_; }

 private:
  int exceptions_at_start_ = std::uncaught_exceptions();
  MpiCommunicator communicator_;
  std::string library_;
};

}  // namespace

std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING + 1> text{};
  int length = 0;
  MpiCaller{0, "start"}.check(MPI_Get_library_version(text.data(), &length),
                              "MPI_Get_library_version");
  std::string version(text.data());
  version.erase(std::min(version.find_first_of("\n,"), version.size()));
  return version;
}

std::unique_ptr<CommSession> start_mpi() {
  initialise_mpi();
  return std::make_unique<MpiSession>();
}

}  // namespace quern
