// SPDX-License-Identifier: Apache-2.0
#include "strategy/rank_loads.hpp"

#include <algorithm>
#include <cstddef>

namespace quern {

namespace {

constexpr std::int64_t kLeastSteps = 4;
constexpr std::int64_t kMostSteps = 1000;

double seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

RankLoads::RankLoads(Communicator& comm, double period_seconds)
    : comm_(comm),
      period_seconds_(period_seconds),
      memory_(comm.allocate_node_shared(static_cast<std::size_t>(comm.size()) * sizeof(Line))),
      loads_(static_cast<std::size_t>(comm.size())),
      period_(kLeastSteps) {}

std::span<RankLoads::Line> RankLoads::lines() const {
  return {reinterpret_cast<Line*>(memory_->bytes().data()), loads_.size()};
}

void RankLoads::begin_step() {
  begin_ = Clock::now();
  waited_ = WaitClock::waited();
}

void RankLoads::end_computing() {
  computing_ = seconds(Clock::now() - begin_ - (WaitClock::waited() - waited_));
  if (steps_ < period_) return;
  const double count = static_cast<double>(steps_);
  lines()[static_cast<std::size_t>(comm_.rank())].load = {sum_.computing / count,
                                                          sum_.step / count};
}

bool RankLoads::has_period_ended() {
  if (steps_ < period_) return false;
  for (std::size_t rank = 0; rank < loads_.size(); ++rank) loads_[rank] = lines()[rank].load;
  const double step = std::max(loads_.front().step, 1e-9);
  const bool is_long =
      period_ == kMostSteps || step * static_cast<double>(period_) >= period_seconds_ / 2;
  period_ = std::clamp(static_cast<std::int64_t>(period_seconds_ / step), kLeastSteps, kMostSteps);
  steps_ = -1;  // this step does not count
  sum_ = {};
  return is_long;
}

void RankLoads::end_step() {
  steps_ += 1;
  if (steps_ == 0) return;
  sum_.computing += computing_;
  sum_.step += seconds(Clock::now() - begin_);
}

}  // namespace quern
