// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/deadline.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace quern {
namespace {

using namespace std::chrono_literals;

void rest_ms(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

TEST(PreflightDeadlineDeathTest, EndsTheProcessAndSaysDuringWhat) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        Deadline deadline(1s, 0s, true);
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
          Deadline deadline(3s, 0s, true);
          for (const char* stage : {"one", "two", "three", "four", "five"}) {
            deadline.enter(stage);
            rest_ms(900);
          }
        }
        std::exit(7);
      },
      testing::ExitedWithCode(7), "");
}

TEST(PreflightDeadline, AStageMayHaveMoreTime) {
  Deadline deadline(100s, 0s, true);
  deadline.enter("a long stage", 300s);
  EXPECT_GT(deadline.left(), 200s);
  EXPECT_EQ(deadline.text(), "within 300 s during a long stage");
  deadline.enter("a short one", 1s);
  EXPECT_LE(deadline.left(), 100s);
  EXPECT_EQ(deadline.text(), "within 100 s during a short one");
}

}  // namespace
}  // namespace quern
