// SPDX-License-Identifier: Apache-2.0
#include "parallel/halving_exchange.hpp"

#include <algorithm>
#include <type_traits>

#include "base/assert.hpp"
#include "tensor/parallel_for.hpp"

namespace quern {

namespace {

constexpr int kTile = 16 * kLanes;

using Messages = std::vector<std::unique_ptr<Message>>;

void start(const Messages& messages) {
  for (const auto& message : messages) message->start();
}

void wait(const Messages& messages) {
  for (const auto& message : messages) message->wait();
}

std::span<float> floats(const FloatView& view, std::int64_t begin, std::int64_t count) {
  return std::span(view.data(), view.extent(0))
      .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
}

// Accumulates into `sum`; the two do not overlap.
void add_to(const ExecSpace& exec, float* sum, const float* more, std::int64_t count) {
  const std::int64_t num_tiles = (count + kTile - 1) / kTile;
  quern::parallel_for(
      "quern::parallel::halving_add", RangePolicy(exec, 0, num_tiles),
      KOKKOS_LAMBDA(const std::int64_t tile) {
        const std::int64_t begin = tile * kTile;
        const std::int64_t width = Kokkos::min<std::int64_t>(kTile, count - begin);
        for (std::int64_t i = 0; i < width; ++i) sum[begin + i] += more[begin + i];
      });
  exec.fence("quern::parallel::halving_complete");
}

}  // namespace

std::int64_t HalvingExchange::received_floats(const Halving& halving) {
  std::int64_t count = 0;
  for (const HalvingRound& round : halving.rounds)
    for (const HalvingPart& part : round.take) count += round_up_to_lanes(part.count);
  return count;
}

HalvingExchange::HalvingExchange(Communicator& comm, const Halving& halving,
                                 const FloatView& vector, const FloatView& received, int tag)
    : vector_(vector), received_(received) {
  expect(kHostExecution, "kernel memory that the host can reach");
  std::int64_t place = 0;
  for (const HalvingRound& parts : halving.rounds) {
    Round& round = rounds_.emplace_back();
    for (const HalvingPart& part : parts.give) {
      const std::span<float> given = floats(vector, part.begin, part.count);
      round.give.push_back(comm.make_send(given, part.rank, tag));
      round.get_back.push_back(comm.make_receive(given, part.rank, tag + 1));
    }
    for (const HalvingPart& part : parts.take) {
      const std::span<float> taken = floats(vector, part.begin, part.count);
      round.take.push_back(comm.make_receive(floats(received, place, part.count), part.rank, tag));
      round.hand_back.push_back(comm.make_send(taken, part.rank, tag + 1));
      round.taken.push_back(part);
      round.places.push_back(place);
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
      add_to(exec, vector_.data() + round.taken[i].begin, received_.data() + round.places[i],
             round.taken[i].count);
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
