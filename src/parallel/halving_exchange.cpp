// SPDX-License-Identifier: Apache-2.0
#include "parallel/halving_exchange.hpp"

#include <utility>

#include "base/assert.hpp"
#include "parallel/tree_sum.hpp"
#include "tensor/float_span.hpp"

namespace quern {

namespace {

template <class Messages>
void start(const Messages& messages) {
  for (const auto& message : messages) message->start();
}

template <class Messages>
void wait(const Messages& messages) {
  for (const auto& message : messages) message->wait();
}

}  // namespace

std::int64_t HalvingExchange::received_floats(const Halving& halving, std::int64_t num_floats,
                                              int rank) {
  std::int64_t count = 0;
  for (const PartialSum& part : halving.gathering.parts)
    if (part.rank != rank) count += round_up_to_lanes(num_floats - 1);
  for (const HalvingRound& round : halving.rounds)
    for (const RankSegment& part : round.take) count += round_up_to_lanes(part.count);
  return count;
}

HalvingExchange::HalvingExchange(Communicator& comm, const Halving& halving,
                                 const GradientSums& partial_sums, std::int64_t num_floats,
                                 const FloatView& received, int tag)
    : partial_sums_(partial_sums),
      num_floats_(num_floats),
      vector_(Kokkos::subview(partial_sums.data, Range(0, num_floats))),
      received_(received) {
  expect(kHostExecution, "kernel memory that the host can reach");
  make_leaf(comm, halving.gathering, tag);
  for (const HalvingRound& round : halving.rounds) make_round(comm, round, tag);
}

// The next floats of received_ that nothing comes into yet: where they begin.
std::int64_t HalvingExchange::next_place(std::int64_t count) {
  return std::exchange(place_, place_ + round_up_to_lanes(count));
}

void HalvingExchange::make_leaf(Communicator& comm, const LeafGathering& gathering, int tag) {
  const std::int64_t count = num_floats_ - 1;
  for (const PartialSum& part : gathering.give) {
    const std::int64_t begin = part.number * partial_sums_.stride;
    leaf_.give.push_back(
        comm.make_send(float_span(partial_sums_.data, begin, count), part.rank, tag));
  }
  if (gathering.parts.empty()) return;
  std::vector<std::int64_t> places;
  for (const PartialSum& part : gathering.parts) {
    if (part.rank == comm.rank()) {
      places.push_back(~(part.number * partial_sums_.stride));
      continue;
    }
    places.push_back(next_place(count));
    leaf_.take.push_back(
        comm.make_receive(float_span(received_, places.back(), count), part.rank, tag));
  }
  leaf_.sum = make_tree_sum_plan(places, gathering.order);
}

void HalvingExchange::make_round(Communicator& comm, const HalvingRound& parts, int tag) {
  Round& round = rounds_.emplace_back();
  const auto of_vector = [&](std::int64_t offset, std::int64_t count) {
    return float_span(vector_, offset, count);
  };
  const std::span<float> whole = of_vector(0, num_floats_);
  for (const RankSegment& part : parts.give) {
    const std::span<float> given = of_vector(part.offset, part.count);
    round.give.push_back(comm.make_send(given, part.rank, tag));
    round.get_back.push_back(comm.make_receive(parts.is_feed ? whole : given, part.rank, tag + 1));
  }
  for (const RankSegment& part : parts.take) {
    const std::span<float> taken = of_vector(part.offset, part.count);
    const std::int64_t place = next_place(part.count);
    round.take.push_back(
        comm.make_receive(float_span(received_, place, part.count), part.rank, tag));
    round.hand_back.push_back(comm.make_send(parts.is_feed ? whole : taken, part.rank, tag + 1));
    round.taken.emplace_back(part.offset, part.offset + part.count);
    round.received.emplace_back(place, place + part.count);
  }
}

// The vector may be among what is given and what is added.
void HalvingExchange::add_leaf(const ExecSpace& exec) {
  wait(leaf_.give);
  wait(leaf_.take);
  if (!leaf_.sum) return;
  const std::int64_t count = num_floats_ - 1;
  tree_sum(exec, *leaf_.sum, received_, partial_sums_.data,
           Kokkos::subview(vector_, Range(0, count)), count);
  exec.fence("quern::parallel::leaf_complete");
}

void HalvingExchange::add(const ExecSpace& exec) {
  exec.fence("quern::parallel::partial_sums_complete");
  start(leaf_.take);
  for (const Round& round : rounds_) start(round.take);
  start(leaf_.give);
  add_leaf(exec);
  for (const Round& round : rounds_) {
    start(round.give);
    for (std::size_t i = 0; i < round.take.size(); ++i) {
      round.take[i]->wait();
      add_to(exec, Kokkos::subview(vector_, round.taken[i]),
             Kokkos::subview(received_, round.received[i]));
      exec.fence("quern::parallel::halving_complete");
    }
  }
  // What was given comes back to the same place.
  for (const Round& round : rounds_) wait(round.give);
  for (const Round& round : rounds_) start(round.get_back);
  for (auto round = rounds_.rbegin(); round != rounds_.rend(); ++round) {
    start(round->hand_back);
    wait(round->get_back);
  }
  for (const Round& round : rounds_) wait(round.hand_back);
}

}  // namespace quern
