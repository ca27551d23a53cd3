// SPDX-License-Identifier: Apache-2.0
#include "bench/rounds.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quern {
namespace {

TEST(Rounds, SettleForTwentyMillisecondsOrOneStep) {
  EXPECT_EQ(settling_steps(0.5e-3), 40);
  EXPECT_EQ(settling_steps(15e-3), 1);
  EXPECT_EQ(settling_steps(3.0), 1);
  EXPECT_EQ(settling_steps(1e-6), 1000);
}

TEST(Rounds, TakeTheStepsThatWereAskedForOrFillTheTime) {
  const RoundPlan asked = plan_rounds(7, 3, 1e-3, 0.4);
  EXPECT_EQ(asked.rounds, 7);
  EXPECT_EQ(asked.settling, 20);
  EXPECT_EQ(asked.steps, 3);
  EXPECT_EQ(plan_rounds(7, 0, 1e-3, 0.4).steps, 400);
  EXPECT_EQ(plan_rounds(7, 0, 1.0, 0.4).steps, 5);
}

TEST(Rounds, SettleBetweenThePeaksAndWhatIsTimed) {
  std::vector<std::string> done;
  const auto noted = [&](const std::string& what) {
    return [&done, what](int steps) { done.push_back(what + " " + std::to_string(steps)); };
  };
  run_rounds(
      {2, 40, 3}, [&] { done.emplace_back("peaks"); }, noted("untimed"), noted("timed"));
  const std::vector<std::string> round = {"peaks", "untimed 40", "timed 3"};
  std::vector<std::string> expected = round;
  expected.insert(expected.end(), round.begin(), round.end());
  EXPECT_EQ(done, expected);
}

TEST(WarmStep, IsNotThatOfTheFirstSteps) {
  std::vector<int> runs;
  const auto time_steps = [&](int steps) {
    runs.push_back(steps);
    return runs.size() == 1 ? 2e-3 : 1e-3;
  };
  EXPECT_EQ(warm_step_s(7, time_steps), 1e-3);
  EXPECT_EQ(runs, (std::vector<int>{7, 10}));
}

}  // namespace
}  // namespace quern
