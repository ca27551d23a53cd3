// SPDX-License-Identifier: Apache-2.0
#include "bench/absent_ranks.hpp"

#include <gtest/gtest.h>

#include <array>

#include "comm/process_grid.hpp"

namespace quern::test {

TEST(AbsentRanks, MoveNothingButWhatIsTheirOwn) {
  AbsentRanks comm(1, 3);
  std::array<float, 6> all = {1, 2, 3, 4, 5, 6};
  const std::array<std::int64_t, 3> counts = {1, 2, 3};
  const std::array<float, 2> mine = {7, 8};
  comm.all_gather_v(std::span(mine), std::span(all), counts);
  EXPECT_EQ(all, (std::array<float, 6>{1, 7, 8, 4, 5, 6}));
  comm.all_gather_v(std::span<const float>(all).subspan(1, 2), std::span(all), counts);
  EXPECT_EQ(all, (std::array<float, 6>{1, 7, 8, 4, 5, 6}));
  const std::array<Segment, 3> send_to = {Segment{0, 1}, {2, 2}, {1, 1}};
  const std::array<Segment, 3> receive_from = {Segment{0, 2}, {4, 2}, {2, 1}};
  std::array<float, 6> received = {};
  comm.all_to_all_v(std::span<const float>(all), send_to, std::span(received), receive_from);
  EXPECT_EQ(received, (std::array<float, 6>{0, 0, 0, 0, 8, 4}));
  comm.all_reduce_sum(std::span(received));
  EXPECT_EQ(received[5], 4);
}

TEST(AbsentRanks, SendAndReceiveAtOnce) {
  AbsentRanks comm(0, 2);
  std::array<float, 2> values = {1, 2};
  const auto send = comm.make_send(std::span(values), 1, 0);
  const auto receive = comm.make_receive(std::span(values), 1, 0);
  for (const auto* message : {&send, &receive}) {
    (*message)->start();
    (*message)->wait();
  }
  EXPECT_EQ(values, (std::array<float, 2>{1, 2}));
}

TEST(AbsentRanks, AreAGridOfStagesAndParts) {
  AbsentRanks world(3, 4);
  const ProcessGrid grid(world, {1, 2, 2}, std::make_shared<AbsentRanks>(1, 2),
                         std::make_shared<AbsentRanks>(1, 2));
  EXPECT_EQ(grid.place().pipeline, 1);
  EXPECT_EQ(grid.place().tensor, 1);
  EXPECT_EQ(grid.data().size(), 1);
  EXPECT_EQ(grid.pipeline().split(0)->size(), 2);
  EXPECT_THROW(ProcessGrid(world, {1, 4, 1}, std::make_shared<AbsentRanks>(1, 2),
                           std::make_shared<AbsentRanks>(0, 1)),
               std::exception);
}

}  // namespace quern::test
