// SPDX-License-Identifier: Apache-2.0
#include "comm/node_shared.hpp"

#include <gtest/gtest.h>

#include <algorithm>

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

TEST(NodeShared, MayBeEmpty) {
  const auto shared = world().allocate_node_shared(0);
  EXPECT_TRUE(shared->bytes().empty());
  shared->publish();
}

}  // namespace
}  // namespace quern
