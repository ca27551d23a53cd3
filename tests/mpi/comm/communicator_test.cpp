// SPDX-License-Identifier: Apache-2.0
// Every collective against what it must give in closed form.
#include "comm/communicator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "comm/exchange.hpp"
#include "comm/launch.hpp"
#include "support/world.hpp"

namespace quern {
namespace {

using testing::world;

TEST(Communicator, HasAsManyRanksAsTheLauncherStarted) {
  EXPECT_EQ(world().size(), read_launch().size.value_or(1));
  EXPECT_GE(world().rank(), 0);
  EXPECT_LT(world().rank(), world().size());
  const std::vector<int> ranks = all_gather_value(world(), world().rank());
  for (int rank = 0; rank < world().size(); ++rank) EXPECT_EQ(ranks[rank], rank);
}

TEST(Communicator, RanksOfOneNodeShareAHost) {
  EXPECT_GE(world().node_size(), 1);
  EXPECT_LT(world().node_rank(), world().node_size());
  EXPECT_FALSE(world().host(world().rank()).empty());
  EXPECT_EQ(std::count_if(world().host(0).begin(), world().host(0).end(),
                          [](unsigned char c) { return c <= ' '; }),
            0);
  EXPECT_THROW(world().host(world().size()), Error);
}

TEST(Communicator, BroadcastsFromEveryRoot) {
  for (int root = 0; root < world().size(); ++root) {
    for (const std::size_t size : {0, 1, 1000}) {
      std::vector<std::byte> bytes(size, std::byte(world().rank() == root ? 7 + root : 0));
      world().broadcast(bytes, root);
      EXPECT_EQ(std::count(bytes.begin(), bytes.end(), std::byte(7 + root)),
                static_cast<std::ptrdiff_t>(size));
    }
    EXPECT_EQ(broadcast_value(world(), 0.5 * world().rank(), root), 0.5 * root);
    EXPECT_EQ(broadcast_string(world(), std::string(world().rank(), 'x'), root),
              std::string(root, 'x'));
  }
  EXPECT_THROW(world().broadcast({}, world().size()), Error);
}

template <class T>
void expect_sum_of_ranks() {
  std::vector<T> values(101);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i + world().rank());
  world().all_reduce_sum(std::span(values));
  const int size = world().size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i], static_cast<T>(i * size + size * (size - 1) / 2));
  }
}

TEST(Communicator, AddsFloats) {
  expect_sum_of_ranks<float>();
}
TEST(Communicator, AddsDoubles) {
  expect_sum_of_ranks<double>();
}
TEST(Communicator, AddsIntegers) {
  expect_sum_of_ranks<std::int64_t>();
}

TEST(Communicator, AddsIntegersBeyond32Bits) {
  std::int64_t value = std::int64_t{1} << 40;
  world().all_reduce_sum(std::span(&value, 1));
  EXPECT_EQ(value, (std::int64_t{1} << 40) * world().size());
}

TEST(Communicator, FindsTheLargest) {
  std::vector<std::int64_t> values = {world().rank(), -world().rank(), -5};
  world().all_reduce_max(std::span(values));
  EXPECT_EQ(values, (std::vector<std::int64_t>{world().size() - 1, 0, -5}));
}

// Rank r contributes 2 r floats (rank 0 none): r, r, ...
void expect_gathered(bool in_place) {
  std::vector<std::int64_t> counts;
  std::vector<float> expected;
  for (int rank = 0; rank < world().size(); ++rank) {
    counts.push_back(2 * rank);
    expected.insert(expected.end(), static_cast<std::size_t>(2 * rank), static_cast<float>(rank));
  }
  std::vector<float> all(expected.size() + 1, -1.0f);  // one more than needed stays as it is
  std::vector<float> mine(static_cast<std::size_t>(2 * world().rank()),
                          static_cast<float>(world().rank()));
  std::span<const float> contribution = mine;
  if (in_place) {
    const auto begin = std::accumulate(counts.begin(), counts.begin() + world().rank(), 0L);
    std::copy(mine.begin(), mine.end(), all.begin() + begin);
    contribution = std::span(all).subspan(static_cast<std::size_t>(begin), mine.size());
  }
  world().all_gather_v(contribution, all, counts);
  expected.push_back(-1.0f);
  EXPECT_EQ(all, expected);
}

TEST(Communicator, GathersUnequalContributions) {
  expect_gathered(false);
}
TEST(Communicator, GathersInPlace) {
  expect_gathered(true);
}

TEST(Communicator, GathersStrings) {
  const std::vector<std::string> texts =
      all_gather_strings(world(), std::string(static_cast<std::size_t>(3 * world().rank()), 'a'));
  ASSERT_EQ(texts.size(), static_cast<std::size_t>(world().size()));
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    EXPECT_EQ(texts[rank], std::string(3 * rank, 'a'));
  }
}

TEST(Communicator, BroadcastsTextsOfRankZero) {
  const std::vector<std::string> texts = {"", "two\nlines", std::string(3, '\0'), ""};
  const bool is_root = world().rank() == 0;
  EXPECT_EQ(broadcast_strings(world(), is_root ? texts : std::vector<std::string>{"other"}), texts);
  EXPECT_TRUE(broadcast_strings(world(), is_root ? std::vector<std::string>{} : texts).empty());
}

// Rank r sends rank d the d + 1 floats 100 r + d, from segments in reversed order with gaps of one.
TEST(Communicator, ExchangesSegmentsInAnyOrder) {
  const int size = world().size();
  const int rank = world().rank();
  std::vector<float> send;
  std::vector<Segment> send_to(static_cast<std::size_t>(size));
  for (int to = size - 1; to >= 0; --to) {
    send_to[to] = {static_cast<std::int64_t>(send.size()), to + 1};
    send.insert(send.end(), static_cast<std::size_t>(to) + 1, static_cast<float>(100 * rank + to));
    send.push_back(-1.0f);
  }
  std::vector<Segment> receive_from;
  for (int from = 0; from < size; ++from) receive_from.push_back({from * (rank + 2), rank + 1});
  std::vector<float> received(static_cast<std::size_t>(size * (rank + 2)), -2.0f);

  world().all_to_all_v(send, send_to, received, receive_from);

  for (int from = 0; from < size; ++from) {
    for (int i = 0; i <= rank; ++i) {
      EXPECT_EQ(received[from * (rank + 2) + i], static_cast<float>(100 * from + rank));
    }
    EXPECT_EQ(received[from * (rank + 2) + rank + 1], -2.0f);
  }
}

TEST(Communicator, RefusesBuffersThatDoNotFit) {
  const auto size = static_cast<std::size_t>(world().size());
  std::vector<float> floats(size);
  const std::vector<std::int64_t> two_each(size, 2);
  EXPECT_THROW(world().all_gather_v(std::span(floats).first(1), floats, two_each), Error);
  const std::vector<std::int64_t> one_each(size, 1);
  EXPECT_THROW(
      world().all_gather_v(std::span(floats).first(1), std::span(floats).first(size - 1), one_each),
      Error);
  std::vector<Segment> inside(size);
  std::vector<Segment> beyond(size, Segment{static_cast<std::int64_t>(size), 1});
  EXPECT_THROW(world().all_to_all_v(floats, beyond, floats, inside), Error);
  EXPECT_THROW(world().all_to_all_v(floats, inside, floats, beyond), Error);
  EXPECT_THROW(world().all_to_all_v(floats, {}, floats, inside), Error);
}

TEST(Communicator, GathersTextsToRankZero) {
  const auto text_of = [](int rank) {
    return std::string(static_cast<std::size_t>(rank % 3), 'a');
  };
  const std::vector<std::string> texts = gather_strings(world(), text_of(world().rank()));
  ASSERT_EQ(texts.size(), static_cast<std::size_t>(world().rank() == 0 ? world().size() : 0));
  for (int rank = 0; rank < static_cast<int>(texts.size()); ++rank)
    EXPECT_EQ(texts[static_cast<std::size_t>(rank)], text_of(rank));
}

// What late ranks have made others say is not taken for an answer to the next call.
TEST(Communicator, ARollCallWaitsForLateRanks) {
  constexpr std::chrono::seconds kPlenty{60};
  for (int late = 0; late < world().size(); ++late) {
    if (world().rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(800));
    EXPECT_TRUE(world().roll_call(kPlenty).empty());
    EXPECT_TRUE(world().roll_call(kPlenty).empty());
  }
}

}  // namespace
}  // namespace quern
