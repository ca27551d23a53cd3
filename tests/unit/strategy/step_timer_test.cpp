// SPDX-License-Identifier: Apache-2.0
#include "strategy/step_timer.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "base/stopwatch.hpp"

namespace quern::test {

namespace {

void pass(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

}  // namespace

// A sleep may be longer than asked for, never shorter.
TEST(StepTimer, PhasesGetTheirTimeAndWaitingIsTakenOutOfThem) {
  StepTimer timer;
  const Stopwatch all;
  pass(50);  // before the first phase
  timer.enter(StepPhase::data);
  pass(5);
  timer.enter(StepPhase::forward);
  pass(10);
  {
    const WaitClock::Scope waiting;
    pass(40);
  }
  timer.enter(StepPhase::update);
  timer.enter(StepPhase::data);
  pass(5);
  timer.stop();
  pass(50);
  const double elapsed = all.seconds();
  timer.enter(StepPhase::backward);  // the pause is no phase's
  timer.stop();

  const StepTimes times = timer.take();
  EXPECT_GE(times[StepPhase::data], 0.010);
  EXPECT_GE(times[StepPhase::forward], 0.010);
  EXPECT_GE(times[StepPhase::waiting], 0.040);
  EXPECT_EQ(times[StepPhase::reduction], 0);
  EXPECT_GE(times[StepPhase::backward], 0);
  EXPECT_LE(times[StepPhase::forward], elapsed - 0.150);
  EXPECT_LE(times.total(), elapsed - 0.100 + times[StepPhase::backward]);
  EXPECT_EQ(timer.take().total(), 0) << "each second is handed out once";
}

TEST(StepTimer, WaitingBetweenStepsIsNotOfAStep) {
  StepTimer timer;
  timer.enter(StepPhase::data);
  timer.stop();
  {
    const WaitClock::Scope waiting;
    pass(20);
  }
  timer.enter(StepPhase::data);
  timer.stop();
  EXPECT_EQ(timer.take()[StepPhase::waiting], 0);
}

}  // namespace quern::test
