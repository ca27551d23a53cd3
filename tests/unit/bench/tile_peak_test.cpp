// SPDX-License-Identifier: Apache-2.0
#include "bench/tile_peak.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "base/stopwatch.hpp"
#include "support/tiles.hpp"

namespace quern {
namespace {

TEST(TilePeak, IsOfTheUnitThatMultiplies) {
  EXPECT_STREQ(tile_unit_name(), host::tile_unit().name);
  const double peak = measure_tile_peak(ExecSpace());
  EXPECT_TRUE(std::isfinite(peak));
  EXPECT_GT(peak, 0);
  RecordProperty("tile_peak_gflops", static_cast<int>(peak));
}

// A unit that counts, and takes its time.
constexpr double kSecondsOfACall = 1e-6;
std::atomic<std::int64_t> calls;
std::atomic<std::int64_t> flop;

void count(const host::TileWalk& walk, const host::TileBlock& block, float*) {
  const Stopwatch watch;
  ++calls;
  flop += std::int64_t{2} * walk.inner * walk.outer * block.rows * block.columns *
          host::kTileFloats * host::kTileDepth;
  while (watch.seconds() < kSecondsOfACall) {
  }
}

TEST(TilePeak, CountsWhatTheChosenUnitComputes) {
  const host::TileUnit counter{"counter", count};
  const test::WithTileUnit with_counter(counter);
  EXPECT_STREQ(tile_unit_name(), "counter");
  const Stopwatch watch;
  const double peak = measure_tile_peak(ExecSpace());
  const double seconds = watch.seconds();
  ASSERT_GT(calls, 0);
  // The best attempt is no slower than all of them together, and no call takes less than its time.
  EXPECT_GE(peak, 1e-9 * static_cast<double>(flop) / seconds);
  const double flop_of_a_call = static_cast<double>(flop) / static_cast<double>(calls);
  EXPECT_LE(peak, 1e-9 * flop_of_a_call * ExecSpace().concurrency() / kSecondsOfACall);
}

}  // namespace
}  // namespace quern
