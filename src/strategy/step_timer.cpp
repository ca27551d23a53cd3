// SPDX-License-Identifier: Apache-2.0
#include "strategy/step_timer.hpp"

#include <numeric>
#include <utility>

namespace quern {

double StepTimes::total() const {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

void StepTimer::close() {
  const Clock::time_point now = Clock::now();
  const WaitClock::Duration waited = WaitClock::waited();
  if (runs_) {
    const auto in_seconds = [](Clock::duration time) {
      return std::chrono::duration<double>(time).count();
    };
    times_[StepPhase::waiting] += in_seconds(waited - waited_);
    times_[phase_] += in_seconds(now - since_ - (waited - waited_));
  }
  since_ = now;
  waited_ = waited;
}

void StepTimer::enter(StepPhase phase) {
  close();
  runs_ = true;
  phase_ = phase;
}

void StepTimer::stop() {
  close();
  runs_ = false;
}

StepTimes StepTimer::take() {
  return std::exchange(times_, {});
}

}  // namespace quern
