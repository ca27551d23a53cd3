// SPDX-License-Identifier: Apache-2.0
// An MPI without the thread level that run_on_ranks needs. A main of its own: MPI starts once.
#include <mpi.h>

#include <cstdio>

#include "runtime/ranks.hpp"

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
  if (provided >= MPI_THREAD_FUNNELED) {
    std::puts("skipped: this MPI offers more threads than it was asked for");
    MPI_Finalize();
    return 77;
  }
  const quern::ExitCode code =
      quern::run_on_ranks([](quern::Communicator&) { return quern::ExitCode::done; });
  MPI_Finalize();
  return code == quern::ExitCode::failure ? 0 : 1;
}
