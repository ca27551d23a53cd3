// SPDX-License-Identifier: Apache-2.0
#include "bench/tile_peak.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "linalg/host/bf16_tiles.hpp"

namespace quern {
namespace {

TEST(TilePeak, IsOfTheUnitThatMultiplies) {
  EXPECT_STREQ(tile_unit_name(), host::tile_unit().name);
  const double peak = measure_tile_peak(ExecSpace());
  EXPECT_TRUE(std::isfinite(peak));
  EXPECT_GT(peak, 0);
  RecordProperty("tile_peak_gflops", static_cast<int>(peak));
}

}  // namespace
}  // namespace quern
