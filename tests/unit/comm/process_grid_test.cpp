// SPDX-License-Identifier: Apache-2.0
#include "comm/process_grid.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "base/error.hpp"
#include "comm/serial/communicator.hpp"
#include "support/expect_error.hpp"

namespace quern {
namespace {

TEST(ProcessGrid, RanksOfALayerAreNeighboursAndStagesAreFarApart) {
  const GridShape shape = grid_shape(12, 2, 3);
  EXPECT_EQ(shape.data, 2);
  const auto place = [&](int rank) {
    const GridPlace at = grid_place(shape, rank);
    return std::tuple(at.data, at.pipeline, at.tensor);
  };
  EXPECT_EQ(place(0), std::tuple(0, 0, 0));
  EXPECT_EQ(place(2), std::tuple(0, 0, 2));
  EXPECT_EQ(place(3), std::tuple(1, 0, 0));
  EXPECT_EQ(place(6), std::tuple(0, 1, 0));
  EXPECT_EQ(place(11), std::tuple(1, 1, 2));
  std::set<std::tuple<int, int, int>> all;
  for (int rank = 0; rank < 12; ++rank) all.insert(place(rank));
  EXPECT_EQ(all.size(), 12u);
}

TEST(ProcessGrid, NamesAPlaceByTheAxesThatAreSplit) {
  EXPECT_EQ(describe({1, 0, 0}, {2, 2, 1}), "data 1 of 2, stage 0 of 2");
  EXPECT_EQ(describe({0, 0, 3}, {1, 1, 4}), "tensor 3 of 4");
  EXPECT_EQ(describe({}, {}), "");
}

TEST(ProcessGrid, RefusesRanksThatDoNotDivide) {
  test::expect_error([] { static_cast<void>(grid_shape(6, 2, 2)); }, ExitCode::bad_input,
                     {"6 ranks", "2 (pipeline) x 2 (tensor)", "a multiple of 4"});
  test::expect_error([] { static_cast<void>(grid_shape(6, 65536, 65536)); }, ExitCode::bad_input,
                     {"a multiple of 4294967296"});
}

TEST(ProcessGrid, OneRankIsItsOwnWorld) {
  SerialCommunicator world;
  const ProcessGrid grid(world, grid_shape(1, 1, 1));
  EXPECT_EQ(&grid.data(), &world);
  EXPECT_EQ(&grid.tensor(), &world);
  EXPECT_THROW(ProcessGrid(world, {1, 2, 1}), Error);
}

}  // namespace
}  // namespace quern
