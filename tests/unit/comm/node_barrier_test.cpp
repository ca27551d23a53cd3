// SPDX-License-Identifier: Apache-2.0
// The barrier of a node's processes, between threads: what the thread sanitizer can see
// (scripts/test runs this under it as well). What is handed over is plain memory, as in a training
// step, so that the barrier alone puts writes before reads.
#include "comm/node_barrier.hpp"

#include <gtest/gtest.h>

#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace quern {
namespace {

template <class Body>
void run_ranks(int num_ranks, const Body& body) {
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < num_ranks; ++rank) threads.emplace_back([&body, rank] { body(rank); });
}

// The pattern of SharedMemoryReducer: everybody writes its part, everybody reads all parts and
// writes its slice of the total, everybody reads the total; the next round overwrites the parts.
std::int64_t wrong_totals(int num_ranks, int rounds) {
  NodeBarrier::State state{};
  const auto size = static_cast<std::size_t>(num_ranks);
  std::vector<std::int64_t> parts(size * size), total(size), wrong(size);
  run_ranks(num_ranks, [&](int own) {
    NodeBarrier barrier(state, num_ranks);
    const auto rank = static_cast<std::size_t>(own);
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < size; ++i) parts[rank * size + i] = round * (own + 1);
      barrier.wait([] { sched_yield(); });
      total[rank] = 0;
      for (std::size_t from = 0; from < size; ++from) total[rank] += parts[from * size + rank];
      barrier.wait([] { sched_yield(); });
      const std::int64_t expected = std::int64_t{round} * num_ranks * (num_ranks + 1) / 2;
      for (const std::int64_t sum : total) wrong[rank] += sum != expected;
    }
  });
  std::int64_t sum = 0;
  for (const std::int64_t count : wrong) sum += count;
  return sum;
}

TEST(NodeBarrier, PutsWritesBeforeReads) {
  for (const int num_ranks : {1, 2, 3, 5}) EXPECT_EQ(wrong_totals(num_ranks, 300), 0) << num_ranks;
}

TEST(NodeBarrier, NobodyPassesBeforeTheLastOneComes) {
  constexpr int kRanks = 4;
  NodeBarrier::State state{};
  int passed = 0;  // written after the barrier, by one rank
  run_ranks(kRanks, [&](int rank) {
    NodeBarrier barrier(state, kRanks);
    if (rank == kRanks - 1) {
      // The others have arrived, and still nobody has passed.
      while (std::atomic_ref(state.arrived).load() != kRanks - 1) sched_yield();
      EXPECT_EQ(passed, 0);
    }
    barrier.wait([] { sched_yield(); });
    if (rank == 0) passed = 1;
  });
  EXPECT_EQ(passed, 1);
  EXPECT_EQ(state.arrived, 0u);
  EXPECT_EQ(state.phase, 1u);
}

TEST(NodeBarrier, CountsBeyondTheLargestNumber) {
  NodeBarrier::State state{0, 0xffffffffu};
  run_ranks(3, [&](int) {
    NodeBarrier barrier(state, 3);
    for (int i = 0; i < 10; ++i) barrier.wait([] { sched_yield(); });
  });
  EXPECT_EQ(state.phase, 9u);
}

}  // namespace
}  // namespace quern
