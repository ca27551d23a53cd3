// SPDX-License-Identifier: Apache-2.0
// Where the time of this rank's training steps goes.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>

#include "comm/wait_clock.hpp"

namespace quern {

enum class StepPhase {
  data,       ///< the samples of the batch, and whatever prepares a step
  forward,    ///< with the loss
  backward,   ///< with the update, where layers update their parameters themselves
  reduction,  ///< adding up gradients
  update,     ///< the optimizer, with the sum whose pieces it takes
  waiting,    ///< for other ranks, in any of these: taken out of them
};

/// Seconds by phase.
struct StepTimes {
  static constexpr std::array<const char*, 6> kNames = {"data",      "forward", "backward",
                                                        "reduction", "update",  "waiting"};
  static constexpr const char* name(StepPhase phase) {
    return kNames[static_cast<std::size_t>(phase)];
  }

  std::array<double, kNames.size()> seconds{};

  double& operator[](StepPhase phase) { return seconds[static_cast<std::size_t>(phase)]; }
  double operator[](StepPhase phase) const { return seconds[static_cast<std::size_t>(phase)]; }
  double total() const;
};

/// Times of the host, which are those of the kernels where these run on the host. Reads the clock
/// once per phase: some 20 ns.
class StepTimer {
 public:
  /// What follows is this phase (not waiting, which is found by itself), what went before was the
  /// one entered before.
  void enter(StepPhase phase);
  /// What follows is none.
  void stop();
  /// Since the last take() or the start.
  StepTimes take();

 private:
  using Clock = std::chrono::steady_clock;

  void close();

  bool runs_ = false;
  StepPhase phase_ = StepPhase::data;
  Clock::time_point since_;
  WaitClock::Duration waited_{};
  StepTimes times_;
};

}  // namespace quern
