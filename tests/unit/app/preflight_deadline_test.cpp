// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/deadline.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace quern {
namespace {

void rest_ms(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

TEST(PreflightDeadlineDeathTest, EndsTheProcessAndSaysDuringWhat) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        Deadline deadline(1, true);
        deadline.enter("a stage");
        rest_ms(60000);
      },
      testing::ExitedWithCode(1), "within 1 s during a stage");
}

TEST(PreflightDeadlineDeathTest, TheTimeOfEachStageBeginsAnew) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        {
          Deadline deadline(3, true);
          for (const char* stage : {"one", "two", "three", "four", "five"}) {
            deadline.enter(stage);
            rest_ms(900);
          }
        }
        std::exit(7);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace quern
