// SPDX-License-Identifier: Apache-2.0
// Parts of the world.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/error.hpp"
#include "comm/communicator.hpp"
#include "comm/exchange.hpp"
#include "comm/process_grid.hpp"
#include "support/world.hpp"

namespace quern {
namespace {

using testing::world;

TEST(Split, JoinsTheRanksOfOneColour) {
  const auto part = world().split(world().rank() % 2);
  EXPECT_EQ(part->size(), (world().size() + 1 - world().rank() % 2) / 2);
  EXPECT_EQ(part->rank(), world().rank() / 2);
  EXPECT_EQ(part->host(part->rank()), world().host(world().rank()));
  std::int64_t sum = world().rank();
  part->all_reduce_sum(std::span(&sum, 1));
  std::int64_t expected = 0;
  for (int rank = world().rank() % 2; rank < world().size(); rank += 2) expected += rank;
  EXPECT_EQ(sum, expected);
}

TEST(Split, PartsExchangeAtTheSameTime) {
  const auto pair = world().split(world().rank() / 2);
  for (int round = 0; round < 100; ++round) {
    const std::vector<int> ranks = all_gather_value(*pair, world().rank());
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      EXPECT_EQ(ranks[i], world().rank() / 2 * 2 + static_cast<int>(i));
    }
  }
  const auto shared = pair->allocate_node_shared(sizeof(int));
  shared->publish();
  EXPECT_EQ(shared->is_leader(), pair->node_rank() == 0);
}

TEST(Split, CanBeSplitAgain) {
  const auto half = world().split(world().rank() % 2);
  const auto alone = half->split(half->rank());
  EXPECT_EQ(alone->size(), 1);
  std::int64_t value = world().rank();
  alone->all_reduce_max(std::span(&value, 1));
  EXPECT_EQ(value, world().rank());
  EXPECT_THROW(static_cast<void>(world().split(-1)), Error);
}

TEST(ProcessGrid, GroupsDifferInOneCoordinate) {
  for (int pipeline = 1; pipeline <= world().size(); ++pipeline) {
    for (int tensor = 1; tensor <= world().size(); ++tensor) {
      if (world().size() % (pipeline * tensor) != 0) continue;
      const ProcessGrid grid(world(), grid_shape(world().size(), pipeline, tensor));
      const GridPlace place = grid.place();
      EXPECT_EQ(grid.data().rank(), place.data);
      EXPECT_EQ(grid.pipeline().rank(), place.pipeline);
      EXPECT_EQ(grid.tensor().rank(), place.tensor);
      EXPECT_EQ(grid.data().size() * grid.pipeline().size() * grid.tensor().size(), world().size());
      for (const GridPlace& other : all_gather_value(grid.pipeline(), place)) {
        EXPECT_EQ(other.data, place.data);
        EXPECT_EQ(other.tensor, place.tensor);
      }
      for (const GridPlace& other : all_gather_value(grid.data(), place)) {
        EXPECT_EQ(other.pipeline, place.pipeline);
        EXPECT_EQ(other.tensor, place.tensor);
      }
      for (const GridPlace& other : all_gather_value(grid.tensor(), place)) {
        EXPECT_EQ(other.pipeline, place.pipeline);
        EXPECT_EQ(other.data, place.data);
      }
    }
  }
}

}  // namespace
}  // namespace quern
