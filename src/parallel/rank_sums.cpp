// SPDX-License-Identifier: Apache-2.0
#include "parallel/rank_sums.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "parallel/make_reducer.hpp"

namespace quern {

namespace {

// The sums that every rank needs come after a gradient, which is empty but for this.
constexpr std::int64_t kNoGradient = kLanes;

}  // namespace

RankSums::RankSums(Communicator& comm, DeviceTransport* transport,
                   const std::vector<std::int64_t>& counts, SumOrder order)
    : RankSums(comm, counts, [&](std::int64_t num_floats, std::int64_t num_sums) {
        return make_reducer(comm, transport, num_floats, order, num_sums);
      }) {}

RankSums::RankSums(Communicator& comm, const std::vector<std::int64_t>& counts,
                   const MakeReducer& make)
    : comm_(comm) {
  for (const std::int64_t count : counts) {
    const auto [place, is_new] = turns_.try_emplace(count);
    if (!is_new) continue;
    for (auto& reducer : place->second.reducers) reducer = make(kNoGradient + count, count);
  }
}

void RankSums::reserve(int partial_sums) {
  for (auto& [count, turns] : turns_)
    for (auto& reducer : turns.reducers) reducer->reserve(partial_sums);
}

ReductionPlan RankSums::add_plan(const BatchPartition& partition) {
  const ReductionPlan plan{num_plans_++};
  for (auto& [count, turns] : turns_)
    for (auto& reducer : turns.reducers)
      expect(reducer->add_plan(partition) == plan, "plans of one number in all reducers");
  return plan;
}

std::int64_t RankSums::bytes() const {
  std::int64_t bytes = 0;
  for (const auto& [count, turns] : turns_)
    for (const auto& reducer : turns.reducers) bytes += reducer->bytes();
  return bytes;
}

void RankSums::allocate() {
  for (auto& [count, turns] : turns_)
    for (auto& reducer : turns.reducers) reducer->allocate();
}

bool RankSums::takes_later_plans() const {
  return std::ranges::all_of(turns_, [](const auto& each) {
    return each.second.reducers.front()->takes_later_plans() &&
           each.second.reducers.back()->takes_later_plans();
  });
}

RankSums::Turns& RankSums::turns_of(std::int64_t count) {
  const auto turns = turns_.find(count);
  expect(turns != turns_.end(), "a size of sum that was announced");
  return turns->second;
}

GradientSums RankSums::partial_sums(std::int64_t count) {
  const Turns& turns = turns_of(count);
  const GradientSums& whole = turns.reducers[turns.next]->partial_sums();
  const auto size = static_cast<std::int64_t>(whole.data.extent(0));
  return {Kokkos::subview(whole.data, std::pair(kNoGradient, size)), whole.stride};
}

ConstFloatView RankSums::add(const ExecSpace& exec, std::int64_t count) {
  Turns& turns = turns_of(count);
  GradientReducer& reducer = *turns.reducers[turns.next];
  turns.next = 1 - turns.next;
  return reducer.reduce_sums(exec, plan_);
}

bool RankSums::is_capturable() const {
  for (const auto& [count, turns] : turns_)
    for (const auto& reducer : turns.reducers)
      if (!reducer->is_capturable()) return false;
  return true;
}

}  // namespace quern
