// SPDX-License-Identifier: Apache-2.0
#include "parallel/halving_exchange.hpp"

#include <utility>

#include "base/assert.hpp"
#include "parallel/tree_sum.hpp"
#include "tensor/float_span.hpp"

namespace quern {

namespace {

using Messages = std::vector<std::unique_ptr<Message>>;

void start(const Messages& messages) {
  for (const auto& message : messages) message->start();
}

void wait(const Messages& messages) {
  for (const auto& message : messages) message->wait();
}

}  // namespace

std::int64_t HalvingExchange::received_floats(const Halving& halving) {
  std::int64_t count = 0;
  for (const HalvingRound& round : halving.rounds)
    for (const RankSegment& part : round.take) count += round_up_to_lanes(part.count);
  return count;
}

HalvingExchange::HalvingExchange(Communicator& comm, const Halving& halving,
                                 const FloatView& vector, const FloatView& received, int tag)
    : vector_(vector), received_(received) {
  expect(kHostExecution, "kernel memory that the host can reach");
  std::int64_t place = 0;
  for (const HalvingRound& parts : halving.rounds) {
    Round& round = rounds_.emplace_back();
    for (const RankSegment& part : parts.give) {
      const std::span<float> given = float_span(vector, part.offset, part.count);
      round.give.push_back(comm.make_send(given, part.rank, tag));
      round.get_back.push_back(comm.make_receive(given, part.rank, tag + 1));
    }
    for (const RankSegment& part : parts.take) {
      const std::span<float> taken = float_span(vector, part.offset, part.count);
      round.take.push_back(
          comm.make_receive(float_span(received, place, part.count), part.rank, tag));
      round.hand_back.push_back(comm.make_send(taken, part.rank, tag + 1));
      round.taken.emplace_back(part.offset, part.offset + part.count);
      round.received.emplace_back(place, place + part.count);
      place += round_up_to_lanes(part.count);
    }
  }
}

void HalvingExchange::add(const ExecSpace& exec) {
  exec.fence("quern::parallel::partial_sums_complete");
  for (const Round& round : rounds_) start(round.take);
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
