// SPDX-License-Identifier: Apache-2.0
#include "bench/timing.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "bench/machine_info.hpp"
#include "comm/serial/communicator.hpp"

namespace quern {
namespace {

TEST(Spread, OfOneValueIsThatValue) {
  const Spread spread = spread_of({3.0});
  EXPECT_EQ(spread.median, 3.0);
  EXPECT_EQ(spread.smallest, 3.0);
  EXPECT_EQ(spread.largest, 3.0);
}

TEST(Spread, OfAnOddNumberTakesTheMiddle) {
  const Spread spread = spread_of({5.0, 1.0, 4.0, 2.0, 100.0});
  EXPECT_EQ(spread.median, 4.0);
  EXPECT_EQ(spread.smallest, 1.0);
  EXPECT_EQ(spread.largest, 100.0);
}

TEST(Spread, OfAnEvenNumberTakesTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(spread_of({4.0, 1.0, 2.0, 100.0}).median, 3.0);
}

TEST(Spread, OfNothingIsAnError) {
  EXPECT_THROW(spread_of({}), Error);
}

TEST(Calls, FillTheTimeWithinLimits) {
  EXPECT_EQ(calls_that_fill(1.0, 0.01, 5, 500), 100);
  EXPECT_EQ(calls_that_fill(1.0, 10.0, 5, 500), 5);
  EXPECT_EQ(calls_that_fill(1.0, 0.0, 5, 500), 500);
}

TEST(Calls, AreTimedTogether) {
  SerialCommunicator comm;
  int calls = 0;
  EXPECT_GE(time_calls(comm, 7, [&] { ++calls; }), 0.0);
  EXPECT_EQ(calls, 7);
}

TEST(PerRank, DividesEveryRate) {
  MachineInfo info;
  info.ranks = 4;
  info.fma_flops = {8, 4, 12};
  info.l1.rate = {80, 80, 80};
  info.memory.rate = {40, 20, 80};
  const MachineInfo one = per_rank(info);
  EXPECT_EQ(one.fma_flops.median, 2);
  EXPECT_EQ(one.fma_flops.largest, 3);
  EXPECT_EQ(one.l1.rate.median, 20);
  EXPECT_EQ(one.memory.rate.smallest, 5);
}

}  // namespace
}  // namespace quern
