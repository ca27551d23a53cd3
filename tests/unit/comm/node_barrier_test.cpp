// SPDX-License-Identifier: Apache-2.0
// The barrier of a node's processes, between threads: what the thread sanitizer can see
// (scripts/test runs this under it as well). What is handed over is plain memory, as in a training
// step, so that the barrier alone puts writes before reads.
#include "comm/node_barrier.hpp"

#include <gtest/gtest.h>

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <thread>
#include <vector>

namespace quern {
namespace {

const auto kSleeps = [] { return true; };
const auto kGivesCoreAway = [] {
  sched_yield();
  return false;
};

template <class Body>
void run_ranks(int num_ranks, const Body& body) {
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < num_ranks; ++rank) threads.emplace_back([&body, rank] { body(rank); });
}

// The pattern of SharedMemoryReducer: everybody writes its part, everybody reads all parts and
// writes its slice of the total, everybody reads the total; the next round overwrites the parts.
std::int64_t wrong_totals(int num_ranks, int rounds, const std::function<bool()>& may_sleep) {
  NodeBarrier::State state{};
  const auto size = static_cast<std::size_t>(num_ranks);
  std::vector<std::int64_t> parts(size * size), total(size), wrong(size);
  run_ranks(num_ranks, [&](int own) {
    NodeBarrier barrier(state, num_ranks);
    const auto rank = static_cast<std::size_t>(own);
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < size; ++i) parts[rank * size + i] = round * (own + 1);
      barrier.wait(may_sleep);
      total[rank] = 0;
      for (std::size_t from = 0; from < size; ++from) total[rank] += parts[from * size + rank];
      barrier.wait(may_sleep);
      const std::int64_t expected = std::int64_t{round} * num_ranks * (num_ranks + 1) / 2;
      for (const std::int64_t sum : total) wrong[rank] += sum != expected;
    }
  });
  std::int64_t sum = 0;
  for (const std::int64_t count : wrong) sum += count;
  return sum;
}

TEST(NodeBarrier, PutsWritesBeforeReads) {
  for (const int num_ranks : {1, 2, 3, 5}) {
    EXPECT_EQ(wrong_totals(num_ranks, 300, kSleeps), 0) << num_ranks;
    EXPECT_EQ(wrong_totals(num_ranks, 300, kGivesCoreAway), 0) << num_ranks;
  }
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
    barrier.wait(kSleeps);
    if (rank == 0) passed = 1;
  });
  EXPECT_EQ(passed, 1);
  EXPECT_EQ(state.arrived, 0u);
  EXPECT_EQ(state.phase, 1u);
}

TEST(NodeBarrier, CountsBeyondTheLargestNumber) {
  NodeBarrier::State state{.arrived = 0, .sleepers = 0, .phase = 0xffffffffu};
  run_ranks(3, [&](int) {
    NodeBarrier barrier(state, 3);
    for (int i = 0; i < 10; ++i) barrier.wait(kSleeps);
  });
  EXPECT_EQ(state.phase, 9u);
}

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Waiting {
  double seconds = 0;        ///< of its core that the rank which comes first takes
  unsigned most_asleep = 0;  ///< as the other sees it
};

// The other one comes 200 ms later.
Waiting wait_long(const std::function<bool()>& may_sleep) {
  NodeBarrier::State state{};
  Waiting waiting;
  run_ranks(2, [&](int rank) {
    NodeBarrier barrier(state, 2);
    if (rank == 1) {
      for (int look = 0; look < 20; ++look) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        waiting.most_asleep = std::max(waiting.most_asleep, std::atomic_ref(state.sleepers).load());
      }
      return barrier.wait(kSleeps);
    }
    const double start = thread_seconds();
    barrier.wait(may_sleep);
    waiting.seconds = thread_seconds() - start;
  });
  EXPECT_EQ(state.sleepers, 0u);
  return waiting;
}

TEST(NodeBarrier, SleepsWhereItWaitsLong) {
  int looks = 0;
  const Waiting waiting = wait_long([&] {
    ++looks;
    return true;
  });
  EXPECT_LT(waiting.seconds, 0.05);
  EXPECT_EQ(waiting.most_asleep, 1u);
  EXPECT_GT(looks, 10);  // a millisecond at most, so that messages move on
  EXPECT_LT(looks, 1000);
}

TEST(NodeBarrier, StaysAwakeWhereItMayNotSleep) {
  EXPECT_EQ(wait_long(kGivesCoreAway).most_asleep, 0u);
}

// Polling in vain makes the next polling shorter, and sleepers are many: nobody is forgotten.
TEST(NodeBarrier, WakesAllSleepers) {
  NodeBarrier::State state{};
  std::atomic<int> passed = 0;
  run_ranks(6, [&](int rank) {
    NodeBarrier barrier(state, 6);
    for (int round = 0; round < 30; ++round) {
      if (rank == round % 6) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      barrier.wait(kSleeps);
    }
    ++passed;
  });
  EXPECT_EQ(passed, 6);
  EXPECT_EQ(state.sleepers, 0u);
}

}  // namespace
}  // namespace quern
