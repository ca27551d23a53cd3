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

bool answer_of(int (*query)(int*), const char* name) {
  int yes = 0;
  MpiCaller{0, "start"}.check(query(&yes), name);
  return yes != 0;
}

void check_thread_level(int provided, const std::string& whose, const char* expected) {
  if (provided >= MPI_THREAD_FUNNELED) return;
  throw Error(whose + " offers thread level " + std::to_string(provided) + ", expected " +
              expected);
}

void check_running_mpi() {
  int provided = 0;
  MpiCaller{0, "start"}.check(MPI_Query_thread(&provided), "MPI_Query_thread");
  check_thread_level(provided, "the MPI that this program has initialised",
                     "MPI_Init_thread with at least MPI_THREAD_FUNNELED");
}

// Of a program that has initialised MPI itself the communicator of all ranks stays as it is, with
// its handler of errors.
void initialise_mpi() {
  if (mpi_is_running()) return check_running_mpi();
  int provided = 0;
  const MpiCaller caller{0, "start"};
  if (answer_of(MPI_Finalized, "MPI_Finalized")) {
    throw Error(
        "run_on_ranks: MPI has been finalised in this process (expected that a program which calls "
        "run_on_ranks several times initialises MPI and Kokkos itself, before the first call)");
  }
  caller.check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided),
               "MPI_Init_thread");
  check_thread_level(provided, "MPI", "a library with at least MPI_THREAD_FUNNELED");
  caller.check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN),
               "MPI_Comm_set_errhandler");
}

class MpiSession final : public CommSession {
 public:
  MpiSession(MPI_Comm ranks, bool ends_mpi) : ends_mpi_(ends_mpi), communicator_(ranks) {}

  ~MpiSession() override {
    // One rank that fails must not wait for the others in collective calls.
    if (std::uncaught_exceptions() > exceptions_at_start_) return;
    communicator_.release();
    if (ends_mpi_) communicator_.caller().check_quietly(MPI_Finalize(), "MPI_Finalize");
  }

  Communicator& communicator() override { return communicator_; }

 private:
  int exceptions_at_start_ = std::uncaught_exceptions();
  bool ends_mpi_;
  MpiCommunicator communicator_;
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

bool mpi_is_running() {
  return answer_of(MPI_Initialized, "MPI_Initialized") &&
         !answer_of(MPI_Finalized, "MPI_Finalized");
}

std::unique_ptr<CommSession> start_mpi() {
  const bool is_programs_own = mpi_is_running();
  initialise_mpi();
  return std::make_unique<MpiSession>(MPI_COMM_WORLD, !is_programs_own);
}

std::unique_ptr<CommSession> join_mpi(int handle) {
  if (!mpi_is_running()) {
    throw InputError(
        "a communicator of MPI was given, but MPI is not running in this process (expected that "
        "the program has called MPI_Init_thread)");
  }
  check_running_mpi();
  const MPI_Comm ranks = MPI_Comm_f2c(handle);
  const char* const expected = " (expected MPI_Comm_c2f of a communicator with this rank in it)";
  if (ranks == MPI_COMM_NULL)
    throw InputError(std::string("the given communicator is MPI_COMM_NULL") + expected);
  int is_inter = 0;
  MpiCaller{0, "start"}.check(MPI_Comm_test_inter(ranks, &is_inter), "MPI_Comm_test_inter");
  if (is_inter)
    throw InputError(std::string("the given communicator joins two groups of ranks") + expected);
  return std::make_unique<MpiSession>(ranks, false);
}

}  // namespace quern
