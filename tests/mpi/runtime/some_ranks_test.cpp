// SPDX-License-Identifier: Apache-2.0
// run_on_ranks_of: Quern on some of the ranks of a program, the others do something else.
#include <gtest/gtest.h>
#include <mpi.h>

#include <span>
#include <string>

#include "base/log.hpp"
#include "comm/agree.hpp"
#include "runtime/ranks.hpp"
#include "support/world.hpp"

namespace quern::test {

using quern::testing::world;

namespace {

// The ranks of MPI_COMM_WORLD with the same colour.
class Group {
 public:
  explicit Group(int colour) { MPI_Comm_split(MPI_COMM_WORLD, colour, world().rank(), &ranks_); }
  ~Group() { MPI_Comm_free(&ranks_); }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  int handle() const { return MPI_Comm_c2f(ranks_); }
  MPI_Comm get() const { return ranks_; }

 private:
  MPI_Comm ranks_ = MPI_COMM_NULL;
};

class RunOnRanksOf : public ::testing::Test {
 protected:
  void TearDown() override { log::set_rank(world().rank()); }
};

ExitCode do_nothing(Communicator&) {
  return ExitCode::done;
}

}  // namespace

TEST_F(RunOnRanksOf, LeavesTheOtherRanksAlone) {
  const bool simulates = world().rank() == 0;
  const Group group(simulates ? 0 : 1);
  std::int64_t sum = 0;
  if (!simulates) {
    const ExitCode code = run_on_ranks_of(group.handle(), [&](Communicator& comm) {
      EXPECT_EQ(comm.size(), world().size() - 1);
      EXPECT_EQ(comm.rank(), world().rank() - 1);
      sum = comm.rank();
      comm.all_reduce_sum(std::span(&sum, 1));
      return ExitCode::requeue;
    });
    EXPECT_EQ(code, ExitCode::requeue);
    EXPECT_EQ(sum, (world().size() - 1) * (world().size() - 2) / 2);
  }
  world().barrier();  // where rank 0 has been all the time
}

TEST_F(RunOnRanksOf, TwoGroupsWorkAtTheSameTimeAndEachSpeaks) {
  const int colour = world().rank() % 2;
  const Group group(colour);
  for (int time = 0; time < 2; ++time) {
    ::testing::internal::CaptureStderr();
    const ExitCode code = run_on_ranks_of(group.handle(), [&](Communicator& comm) {
      log::info("group " + std::to_string(colour));
      run_on_root(comm, [&] {
        if (colour == 1) throw InputError("for this test");
      });
      return ExitCode::done;
    });
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(code, colour == 1 ? ExitCode::bad_input : ExitCode::done);
    std::string expected;
    if (world().rank() < 2) expected = "quern: group " + std::to_string(colour) + "\n";
    if (world().rank() == 1) expected += "quern: error: for this test\n";
    EXPECT_EQ(said, expected);
  }
}

TEST_F(RunOnRanksOf, RefusesWhatIsNoGroupOfRanks) {
  EXPECT_EQ(run_on_ranks_of(MPI_Comm_c2f(MPI_COMM_NULL), do_nothing), ExitCode::bad_input);
  const Group group(world().rank() == 0 ? 0 : 1);
  MPI_Comm both = MPI_COMM_NULL;
  MPI_Intercomm_create(group.get(), 0, MPI_COMM_WORLD, world().rank() == 0 ? 1 : 0, 7, &both);
  EXPECT_EQ(run_on_ranks_of(MPI_Comm_c2f(both), do_nothing), ExitCode::bad_input);
  MPI_Comm_free(&both);
}

}  // namespace quern::test
