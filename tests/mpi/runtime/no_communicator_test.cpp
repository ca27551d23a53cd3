// SPDX-License-Identifier: Apache-2.0
// run_on_ranks_of in a build without MPI.
#include <gtest/gtest.h>

#include "runtime/ranks.hpp"

namespace quern::test {

TEST(RunOnRanksOf, NeedsMpi) {
  EXPECT_EQ(run_on_ranks_of(0, [](Communicator&) { return ExitCode::done; }), ExitCode::bad_input);
}

}  // namespace quern::test
