// SPDX-License-Identifier: Apache-2.0
#include "bench/tile_peak.hpp"

#include <algorithm>
#include <array>

#include "base/stopwatch.hpp"
#include "linalg/host/bf16_tiles.hpp"

namespace quern {

namespace {

using host::kTileBf16;
using host::kTileFloats;
using host::kTileRows;

constexpr int kSteps = 4;  // along k: 8 tiles of A and 8 of B are 16 KB
constexpr double kFlopOfWalk = 2.0 * 4 * kSteps * kTileRows * kTileRows * host::kTileDepth;

// The largest block that the unit takes, `walks` times. Zeros take the time of other numbers.
float multiply_tiles(const host::TileUnit& unit, std::int64_t walks) {
  alignas(64) std::array<host::Bf16, 2 * kSteps * kTileBf16> a{};
  alignas(64) std::array<host::Bf16, 2 * kSteps * kTileBf16> b{};
  alignas(64) std::array<float, 4 * kTileFloats> c{};
  const host::TileWalk walk{.a = a.data(),
                            .b = b.data(),
                            .a_row = kSteps * kTileBf16,
                            .b_column = kSteps * kTileBf16,
                            .inner = kSteps};
  for (std::int64_t i = 0; i < walks; ++i)
    unit.multiply(walk, {.rows = 2, .columns = 2, .add = true}, c.data());
  return c[0];
}

}  // namespace

double measure_tile_peak(const ExecSpace& exec, OperandPrecision precision) {
  constexpr std::int64_t kWalks = 4000;
  const host::TileUnit& unit = host::tile_unit(precision);
  const int threads = exec.concurrency();
  const FloatView sink("quern::bench::tile_peak_sink", static_cast<std::size_t>(threads) * kLanes);
  double best = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const Stopwatch watch;
    Kokkos::parallel_for(
        "quern::bench::tile_peak", RangePolicy(exec, 0, threads), [=, &unit](std::int64_t t) {
          sink(static_cast<std::size_t>(t * kLanes)) = multiply_tiles(unit, kWalks);
        });
    exec.fence("quern::bench::tile_peak_end");
    best = std::max(best, kFlopOfWalk * kWalks * threads * 1e-9 / watch.seconds());
  }
  return best;
}

const char* tile_unit_name(OperandPrecision precision) {
  return host::tile_unit(precision).name;
}

}  // namespace quern
