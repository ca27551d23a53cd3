// SPDX-License-Identifier: Apache-2.0
#include "bench/tile_peak.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <vector>

#include "base/stopwatch.hpp"
#include "support/tiles.hpp"

namespace quern {
namespace {

TEST(TilePeak, IsOfTheUnitThatMultiplies) {
  for (const auto precision : {OperandPrecision::bf16, OperandPrecision::bf16_pairs}) {
    EXPECT_STREQ(tile_unit_name(precision), host::tile_unit(precision).name);
    const double peak = measure_tile_peak(ExecSpace(), precision);
    EXPECT_TRUE(std::isfinite(peak));
    EXPECT_GT(peak, 0);
    RecordProperty("tile_peak_gflops", static_cast<int>(peak));
  }
}

// A unit that counts what it is to compute, and when.
struct Call {
  double begin;
  double end;
};
const Stopwatch watch;
std::mutex mutex;
std::vector<Call> calls;
double flop = 0;

void count(const host::TileWalk& walk, const host::TileBlock& block, float*) {
  const double begin = watch.seconds();
  const double own = 2.0 * walk.inner * walk.outer * block.rows * block.columns *
                     host::kTileFloats * host::kTileDepth;
  while (watch.seconds() < begin + 1e-6) {
  }
  const std::lock_guard lock(mutex);
  flop += own;
  calls.push_back({begin, watch.seconds()});
}

// The time of the fastest `count` calls that follow each other.
double fastest(std::size_t count) {
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i + count <= calls.size(); ++i)
    best = std::min(best, calls[i + count - 1].end - calls[i].begin);
  return best;
}

TEST(TilePeak, CountsWhatTheChosenUnitComputes) {
  const host::TileUnit counter{"counter", OperandPrecision::bf16, count};
  const test::WithTileUnit with_counter(counter);
  EXPECT_STREQ(tile_unit_name(OperandPrecision::bf16), "counter");
  const double begin = watch.seconds();
  const double peak = 1e9 * measure_tile_peak(ExecSpace(), OperandPrecision::bf16);
  const double seconds = watch.seconds() - begin;
  constexpr std::size_t kAttempts = 5;
  ASSERT_GT(calls.size(), 0u);
  ASSERT_EQ(calls.size() % kAttempts, 0u);
  // The best attempt is no slower than all of them together, and no faster than its calls.
  EXPECT_GE(peak, flop / seconds);
  if (ExecSpace().concurrency() == 1) {
    EXPECT_LE(peak, flop / kAttempts / fastest(calls.size() / kAttempts));
  }
}

}  // namespace
}  // namespace quern
