// SPDX-License-Identifier: Apache-2.0
// run_on_ranks where it starts MPI and Kokkos itself: both can be started once in a process. Run
// alone, and on two ranks.
#include "runtime/ranks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/launch.hpp"

namespace quern {
namespace {

TEST(RunOnRanks, ASecondCallSaysWhatItNeeds) {
  const auto nothing = [](Communicator&) { return ExitCode::done; };
  EXPECT_EQ(run_on_ranks(nothing), ExitCode::done);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run_on_ranks(nothing), ExitCode::failure);
  const std::string said = ::testing::internal::GetCapturedStderr();
  if (read_launch().rank == 0) {
    EXPECT_THAT(said, ::testing::HasSubstr("has been finalised in this process"));
    EXPECT_THAT(said, ::testing::HasSubstr("initialises"));
  } else {
    EXPECT_EQ(said, "");
  }
}

}  // namespace
}  // namespace quern
