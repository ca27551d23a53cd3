// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/wait_clock.hpp"
#include "strategy/share_balance.hpp"

namespace quern {

/// What the ranks of a node need for their parts of a batch. Over some steps at a time, 4 to 1000,
/// so that what a system gives to each process is seen as a whole, told to all through memory that
/// they share. Without a message or a barrier of its own: it leans on the two of
/// SharedMemoryReducer in each step.
class RankLoads {
 public:
  /// All ranks of `comm` share a node. Collective. A period has about so many seconds.
  explicit RankLoads(Communicator& comm, double period_seconds = 0.05);

  /// A step begins.
  void begin_step();
  /// This rank's blocks are computed. Before the first barrier of the reduction.
  void end_computing();
  /// Between the two barriers of the reduction: does a period end here? Then loads() are of it. One
  /// that was much too short, as the first, only tells how many steps the next is to have. The same
  /// answer on all ranks.
  bool has_period_ended();
  /// The step has ended, after the second barrier.
  void end_step();

  /// Of all ranks in the last period.
  const std::vector<RankLoad>& loads() const { return loads_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct alignas(64) Line {
    RankLoad load;
  };
  std::span<Line> lines() const;

  Communicator& comm_;
  double period_seconds_;
  std::unique_ptr<NodeShared> memory_;
  std::vector<RankLoad> loads_;
  std::int64_t period_;      ///< steps
  std::int64_t steps_ = -1;  ///< the first one does not count
  RankLoad sum_;             ///< of these
  Clock::time_point begin_;
  WaitClock::Duration waited_{};
  double computing_ = 0;  ///< seconds of the step under way
};

}  // namespace quern
