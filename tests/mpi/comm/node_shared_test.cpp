// SPDX-License-Identifier: Apache-2.0
#include "comm/node_shared.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/world.hpp"

namespace quern {
namespace {

using testing::world;

TEST(NodeShared, StartsZeroFilled) {
  const auto shared = world().allocate_node_shared(100'003);
  EXPECT_EQ(shared->bytes().size(), 100'003u);
  EXPECT_TRUE(std::all_of(shared->bytes().begin(), shared->bytes().end(),
                          [](std::byte b) { return b == std::byte{0}; }));
}

TEST(NodeShared, ShowsEverybodyWhatTheLeaderWrote) {
  const auto shared = world().allocate_node_shared(5000);
  shared->publish();  // nobody looks for zeros any more
  EXPECT_EQ(shared->is_leader(), world().node_rank() == 0);
  if (shared->is_leader()) std::fill(shared->bytes().begin(), shared->bytes().end(), std::byte{42});
  shared->publish();
  EXPECT_EQ(std::count(shared->bytes().begin(), shared->bytes().end(), std::byte{42}), 5000);
}

TEST(NodeShared, IsOneCopyForAllRanksOfTheNode) {
  const auto shared = world().allocate_node_shared(static_cast<std::size_t>(world().node_size()));
  shared->bytes()[static_cast<std::size_t>(world().node_rank())] = std::byte{1};
  shared->publish();
  EXPECT_EQ(std::count(shared->bytes().begin(), shared->bytes().end(), std::byte{1}),
            world().node_size());
}

TEST(NodeShared, BeginsOnACacheLine) {
  const auto shared = world().allocate_node_shared(100);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(shared->bytes().data()) % 64, 0u);
}

// Each round everybody adds to what the neighbour wrote in the round before: a barrier that lets
// one pass too early loses a count.
TEST(NodeShared, PublishesAgainAndAgain) {
  const auto size = static_cast<std::size_t>(world().node_size());
  const auto rank = static_cast<std::size_t>(world().node_rank());
  const auto shared = world().allocate_node_shared(2 * size * sizeof(int));
  int* const counts = reinterpret_cast<int*>(shared->bytes().data());
  shared->publish();
  const int rounds = 2000;
  for (int round = 0; round < rounds; ++round) {
    const int* from = counts + (round % 2 == 0 ? 0 : size);
    int* to = counts + (round % 2 == 0 ? size : 0);
    to[rank] = from[(rank + 1) % size] + 1;
    shared->publish();
  }
  EXPECT_EQ(counts[rank], rounds);
}

TEST(NodeShared, TakesTurnsWithMessages) {
  const auto node_size = static_cast<std::size_t>(world().node_size());
  const auto node_rank = static_cast<std::size_t>(world().node_rank());
  const auto shared = world().allocate_node_shared(node_size);
  // Long messages move on only inside MPI: the barrier must let them while it waits.
  std::vector<std::byte> big(4 << 20);
  for (int round = 0; round < 3; ++round) {
    for (int root = 0; root < world().size(); ++root) {
      const auto value = static_cast<std::byte>(1 + round * 16 + root);
      if (world().rank() == root) std::fill(big.begin(), big.end(), value);
      world().broadcast(big, root);
      EXPECT_EQ(std::count(big.begin(), big.end(), value), std::ssize(big));
    }
    shared->bytes()[node_rank] = static_cast<std::byte>(round + 1);
    shared->publish();
    EXPECT_EQ(std::count(shared->bytes().begin(), shared->bytes().end(),
                         static_cast<std::byte>(round + 1)),
              std::ssize(shared->bytes()));
    shared->publish();
  }
}

TEST(NodeShared, MayBeEmpty) {
  const auto shared = world().allocate_node_shared(0);
  EXPECT_TRUE(shared->bytes().empty());
  shared->publish();
}

}  // namespace
}  // namespace quern
