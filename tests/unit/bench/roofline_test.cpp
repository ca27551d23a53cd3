// SPDX-License-Identifier: Apache-2.0
#include "bench/roofline.hpp"

#include <gtest/gtest.h>

namespace quern {
namespace {

MachineInfo machine() {
  MachineInfo info;
  info.fma_flops = {1000, 900, 1100};
  info.l1 = {10, 5, {200, 200, 200}};
  info.l2 = {100, 50, {50, 50, 50}};
  info.l3 = {1000, 500, {20, 20, 20}};
  info.memory = {0, 4000, {10, 10, 10}};
  return info;
}

// Bytes of arrays that are each read or written once.
KernelCost once(double flop, double bytes) {
  return {flop, bytes, bytes};
}

TEST(Roofline, IsTheSlowerOfArithmeticAndTraffic) {
  const Roofline by_fma = roofline(once(2000, 10), machine());
  EXPECT_EQ(by_fma.bound, Bound::fma);
  EXPECT_EQ(by_fma.level, Bound::l1);
  EXPECT_DOUBLE_EQ(by_fma.seconds, 2.0);
  const Roofline by_cache = roofline(once(100, 100), machine());
  EXPECT_EQ(by_cache.bound, Bound::l2);
  EXPECT_DOUBLE_EQ(by_cache.seconds, 10.0 / 200 + 90.0 / 50);
}

TEST(Roofline, RelatesTilesToTheirOwnPeak) {
  MachineInfo with_tiles = machine();
  with_tiles.tile_unit = "AMX";
  with_tiles.tile_flops = {8000, 8000, 8000};
  const KernelCost tiles{.flop = 16000, .bytes = 10, .working_set = 10, .on_tiles = true};
  const Roofline line = roofline(tiles, with_tiles);
  EXPECT_EQ(line.bound, Bound::tiles);
  EXPECT_STREQ(to_string(line.bound), "tiles");
  EXPECT_DOUBLE_EQ(line.seconds, 2.0);
  EXPECT_EQ(roofline(once(16000, 10), with_tiles).bound, Bound::fma);
  EXPECT_DOUBLE_EQ(roofline(once(16000, 10), with_tiles).seconds, 16.0);
}

TEST(Roofline, TakesTheSmallestLevelThatHoldsTheWorkingSet) {
  EXPECT_EQ(roofline(once(0, 10), machine()).bound, Bound::l1);
  EXPECT_EQ(roofline(once(0, 11), machine()).bound, Bound::l2);
  EXPECT_EQ(roofline(once(0, 101), machine()).bound, Bound::l3);
  EXPECT_EQ(roofline(once(0, 1001), machine()).bound, Bound::memory);
  EXPECT_DOUBLE_EQ(roofline(once(0, 2000), machine()).seconds,
                   10.0 / 200 + 90.0 / 50 + 900.0 / 20 + 1000.0 / 10);
}

TEST(Roofline, TakesTheWorkingSetAndNotTheTraffic) {
  // Three arrays that are read and written, and one that is read: seven times a quarter.
  const Roofline line = roofline({.bytes = 140, .working_set = 80}, machine());
  EXPECT_EQ(line.bound, Bound::l2);
  EXPECT_DOUBLE_EQ(line.seconds, 140 * (10.0 / 80 / 200 + 70.0 / 80 / 50));
}

TEST(Roofline, ReadsGatheredRowsWhereTheirArrayLies) {
  const KernelCost gather{.bytes = 50, .working_set = 10, .gathered = 40, .gathered_from = 2000};
  const Roofline line = roofline(gather, machine());
  EXPECT_EQ(line.bound, Bound::memory);
  EXPECT_DOUBLE_EQ(line.seconds, 10.0 / 200 + roofline(once(0, 2000), machine()).seconds / 50);
  const KernelCost little{.bytes = 50, .working_set = 49, .gathered = 1, .gathered_from = 2000};
  EXPECT_EQ(roofline(little, machine()).bound, Bound::l2) << "the rows take less time";
}

TEST(Roofline, PassesOverACacheThatIsSmallerThanTheOneBefore) {
  MachineInfo many = machine();
  many.l3.cache_bytes = 60;  // of processors with many cores: their L2 together are larger
  EXPECT_EQ(roofline(once(0, 100), many).bound, Bound::l2);
  EXPECT_EQ(roofline(once(0, 101), many).bound, Bound::memory);
  EXPECT_DOUBLE_EQ(roofline(once(0, 101), many).seconds, 10.0 / 200 + 90.0 / 50 + 1.0 / 10);
}

TEST(Roofline, OfAnUnknownKernelIsUnknown) {
  const Roofline line = roofline({}, machine());
  EXPECT_EQ(line.bound, Bound::unknown);
  EXPECT_EQ(line.seconds, 0);
  EXPECT_STREQ(to_string(line.bound), "-");
}

}  // namespace
}  // namespace quern
