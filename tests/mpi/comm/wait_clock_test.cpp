// SPDX-License-Identifier: Apache-2.0
// Every call in which ranks meet counts as waiting, and nothing else does.
#include "comm/wait_clock.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <thread>
#include <vector>

#include "base/stopwatch.hpp"
#include "comm/exchange.hpp"
#include "support/world.hpp"

namespace quern {
namespace {

using testing::world;

double waited_in(const std::function<void()>& call) {
  const WaitClock::Duration before = WaitClock::waited();
  const Stopwatch around;
  call();
  const double waited = std::chrono::duration<double>(WaitClock::waited() - before).count();
  EXPECT_LE(waited, around.seconds());
  return waited;
}

TEST(WaitClock, EveryMeetingCounts) {
  if (world().size() == 1) return;
  std::vector<float> floats(64);
  std::vector<std::int64_t> integers(3);
  std::vector<double> doubles(3);
  const auto size = static_cast<std::size_t>(world().size());
  const std::vector<Segment> to(size, {0, 1});
  std::vector<Segment> from(size);
  for (std::size_t r = 0; r < size; ++r) from[r] = {static_cast<std::int64_t>(r), 1};
  std::vector<float> received(size);
  const auto shared = world().allocate_node_shared(64);
  const std::vector<std::function<void()>> calls = {
      [] { world().barrier(); },
      [] { broadcast_value(world(), 1); },
      [&] { world().all_reduce_sum(floats); },
      [&] { world().all_reduce_sum(doubles); },
      [&] { world().all_reduce_sum(integers); },
      [&] { world().all_reduce_max(integers); },
      [] { all_gather_value(world(), 1); },
      [&] { world().all_to_all_v(floats, to, received, from); },
      [&] { shared->publish(); }};
  for (std::size_t i = 0; i < calls.size(); ++i) EXPECT_GT(waited_in(calls[i]), 0) << "call " << i;
}

TEST(WaitClock, MessagesCountWhileTheyAreWaitedFor) {
  if (world().rank() > 1 || world().size() == 1) return;
  std::array<float, 4> values{};
  const bool sends = world().rank() == 0;
  const auto message = sends ? world().make_send(values, 1, 3) : world().make_receive(values, 0, 3);
  EXPECT_EQ(waited_in([&] { message->start(); }), 0);
  EXPECT_GT(waited_in([&] { message->wait(); }), 0);
}

// The others are in the barrier for nearly all of that time; the late one is not.
TEST(WaitClock, WaitsForTheLateOne) {
  world().barrier();
  const bool is_late = world().rank() == 0;
  const double waited = waited_in([&] {
    if (is_late) std::this_thread::sleep_for(std::chrono::milliseconds(400));
    world().barrier();
  });
  const std::vector<double> all = all_gather_value(world(), waited);
  for (std::size_t rank = 1; rank < all.size(); ++rank) EXPECT_GT(all[rank], 0.1);
}

TEST(WaitClock, WorkIsNoWaiting) {
  EXPECT_EQ(waited_in([] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }), 0);
}

}  // namespace
}  // namespace quern
