// SPDX-License-Identifier: Apache-2.0
#include "comm/session.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "comm/serial/communicator.hpp"

namespace quern {
namespace {

Launch started(int size) {
  Launch launch;
  launch.size = size;
  launch.size_variable = "SLURM_STEP_NUM_TASKS";
  launch.under_launcher = size > 1;
  return launch;
}

TEST(Session, AloneIsSerial) {
  const auto session = start_communication(Transport::automatic, Launch{});
  EXPECT_TRUE(dynamic_cast<SerialCommunicator*>(&session->communicator()));
  EXPECT_EQ(session->communicator().size(), 1);
  EXPECT_FALSE(session->communicator().host(0).empty());
}

TEST(Session, SerialAmongSeveralProcessesIsRefused) {
  EXPECT_THROW(start_communication(Transport::serial, started(4)), InputError);
  EXPECT_NO_THROW(start_communication(Transport::serial, started(1)));
}

TEST(Session, WithoutMpiSeveralProcessesAreRefused) {
  if (built_with_mpi()) GTEST_SKIP() << "built with MPI";
  EXPECT_THROW(start_communication(Transport::mpi, Launch{}), InputError);
  EXPECT_THROW(start_communication(Transport::automatic, started(4)), InputError);
}

TEST(Session, WithoutMpiNoCommunicatorIsJoined) {
  if (built_with_mpi()) GTEST_SKIP() << "built with MPI";
  EXPECT_THROW(join_communicator(0), InputError);
}

TEST(Session, AbortEndsWithTheCode) {
  const auto session = start_communication(Transport::serial, Launch{});
  EXPECT_EXIT(session->communicator().abort(ExitCode::do_not_requeue),
              ::testing::ExitedWithCode(93), "");
}

}  // namespace
}  // namespace quern
