// SPDX-License-Identifier: Apache-2.0
// An MPI that fails on all ranks at once; with the argument "differ" the last one has an error of
// its own. One message of each is expected, not one of each rank.
#include <mpi.h>

#include <chrono>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "runtime/ranks.hpp"

namespace {
bool g_fails = false;
}

extern "C" int MPI_Barrier(MPI_Comm comm) {
  return g_fails ? MPI_ERR_INTERN : PMPI_Barrier(comm);
}

int main(int argc, char** argv) {
  const bool differ = argc > 1 && std::string(argv[1]) == "differ";
  return static_cast<int>(quern::run_on_ranks([&](quern::Communicator& comm) {
    g_fails = true;
    if (differ && comm.rank() + 1 == comm.size()) {
      // The others have spoken, and have not yet ended all.
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      throw quern::Error("no room in scratch");
    }
    comm.barrier();
    return quern::ExitCode::done;
  }));
}
