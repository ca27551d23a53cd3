// SPDX-License-Identifier: Apache-2.0
// run_on_ranks in a program that has initialised MPI and Kokkos itself, as the main of these tests.
#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include "comm/agree.hpp"
#include "runtime/ranks.hpp"
#include "support/world.hpp"

namespace quern::test {

using quern::testing::world;

TEST(RunOnRanks, LeavesToTheProgramWhatItHasStarted) {
  for (int time = 0; time < 2; ++time) {
    int ranks = 0;
    const ExitCode code = run_on_ranks([&](Communicator& comm) {
      std::int64_t one = 1;
      comm.all_reduce_sum(std::span(&one, 1));
      ranks = static_cast<int>(one);
      EXPECT_EQ(comm.rank(), world().rank());
      return ExitCode::requeue;
    });
    EXPECT_EQ(code, ExitCode::requeue);
    EXPECT_EQ(ranks, world().size());
    EXPECT_TRUE(Kokkos::is_initialized());
    world().barrier();  // MPI goes on
  }
}

TEST(RunOnRanks, MayBeCalledAgainAfterAnError) {
  const auto fail = [](Communicator& comm) -> ExitCode {
    run_on_root(comm, [] { throw InputError("for this test"); });
    return ExitCode::done;
  };
  EXPECT_EQ(run_on_ranks(fail), ExitCode::bad_input);
  EXPECT_EQ(run_on_ranks([](Communicator&) { return ExitCode::done; }), ExitCode::done);
}

}  // namespace quern::test
