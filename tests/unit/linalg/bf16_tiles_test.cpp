// SPDX-License-Identifier: Apache-2.0
#include "linalg/host/bf16_tiles.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <limits>
#include <random>
#include <vector>

#include "base/flush_denormals.hpp"
#include "linalg/host/simd_bf16.hpp"
#include "linalg/reference/bf16_tiles.hpp"
#include "support/fused_products.hpp"
#include "support/tiles.hpp"

namespace quern::host {
namespace {

using test::bits_of;

/// Values of many sizes: ordinary, near the smallest normal float, denormal.
float any_value(std::mt19937& random, int smallest_exponent) {
  const auto exponent = static_cast<int>(random() % 40) + smallest_exponent;
  const float fraction = std::uniform_real_distribution<float>(-2, 2)(random);
  return std::ldexp(fraction, exponent);
}

std::vector<Bf16> any_tiles(std::mt19937& random, int count, int smallest_exponent) {
  std::vector<Bf16> tiles(static_cast<std::size_t>(count) * kTileBf16);
  for (Bf16& value : tiles) {
    value =
        static_cast<Bf16>(std::bit_cast<std::uint32_t>(any_value(random, smallest_exponent)) >> 16);
  }
  return tiles;
}

std::vector<float> expected_block(const TileUnit& unit, const TileWalk& w, const TileBlock& block,
                                  std::vector<float> c) {
  const auto product = unit.precision == OperandPrecision::bf16_pairs ? reference::pair_product
                                                                      : reference::tile_product;
  for (int i = 0; i < block.rows; ++i) {
    for (int j = 0; j < block.columns; ++j) {
      for (int element = 0; element < kTileFloats; ++element) {
        float& sum = c[static_cast<std::size_t>(i * block.down() + j * block.right() + element)];
        if (!block.add) sum = 0;
        for (int outer = 0; outer < w.outer; ++outer) {
          for (int inner = 0; inner < w.inner; ++inner) {
            sum = product(w.a + i * w.a_row + outer * w.a_outer + inner * w.a_inner,
                          w.b + j * w.b_column + outer * w.b_outer + inner * w.b_inner,
                          element / kTileRows, element % kTileRows, sum);
          }
        }
      }
    }
  }
  return c;
}

/// As kernels do, which the expected sums do not rely on.
void multiply(const TileUnit& unit, const TileWalk& walk, const TileBlock& block, float* c) {
  const FlushDenormals flush;
  unit.multiply(walk, block, c);
}

TEST(SimdBf16, StoresAndPairsWhatIsRounded) {
  std::mt19937 random(5);
  std::vector<float> values(2 * simd::kWidth);
  for (int trial = 0; trial < 2000; ++trial) {
    for (float& value : values) value = any_value(random, -130);
    values[static_cast<std::size_t>(trial) % values.size()] =
        std::array{std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                   std::numeric_limits<float>::max(), -0.0f}[static_cast<std::size_t>(trial % 4)];
    std::array<Bf16, 2 * simd::kWidth> stored{};
    for (int i = 0; i < 2 * simd::kWidth; i += simd::kWidth)
      simd::store_rounded(&stored[static_cast<std::size_t>(i)],
                          simd::load(&values[static_cast<std::size_t>(i)]));
    std::array<Bf16, 2 * simd::kWidth> pairs{};
    simd::store_pairs(pairs.data(), simd::join_pairs(simd::load_rounded(stored.data()),
                                                     simd::load_rounded(&stored[simd::kWidth])));
    std::array<float, simd::kWidth> widened{};
    simd::store(widened.data(), simd::widen(simd::round_lanes(simd::load(values.data()))));
    for (std::size_t i = 0; i < widened.size(); ++i)
      EXPECT_EQ(std::bit_cast<std::uint32_t>(widened[i]), std::uint32_t{stored[i]} << 16);
    for (std::size_t i = 0; i < stored.size(); ++i) {
      const std::size_t from = i / 2 + i % 2 * simd::kWidth;
      EXPECT_EQ(stored[i], reference::to_bf16(values[i])) << values[i];
      EXPECT_EQ(pairs[i], stored[from]);
    }
  }
}

std::vector<const TileUnit*> units() {
  if (!amx_tile_unit())
    std::printf("note: no AMX here: only the vector registers multiply by tiles\n");
  if (!avx512_bf16_unit())
    std::printf("note: no AVX512_BF16 here: only the vector registers multiply by pairs\n");
  return test::tile_units();
}

TEST(Bf16Tiles, HasTheBitsOfTheReferenceOnEveryUnit) {
  QUERN_SKIP_WITHOUT_FUSED_PRODUCTS();
  std::mt19937 random(1);
  for (const TileUnit* unit : units()) {
    for (const int smallest_exponent : {-20, -75, -150}) {
      for (const int rows : {1, 2}) {
        for (const int columns : {1, 2}) {
          const std::vector<Bf16> a = any_tiles(random, 12, smallest_exponent);
          const std::vector<Bf16> b = any_tiles(random, 12, smallest_exponent);
          const TileWalk walk{a.data(),  b.data(), 6 * kTileBf16, 5 * kTileBf16, 2, kTileBf16,
                              kTileBf16, 3,        2 * kTileBf16, 2 * kTileBf16};
          for (const int kind : {0, 1, 2, 3}) {
            const bool add = kind % 2 != 0;
            const TileBlock block{rows, columns, add, kind / 2 != 0};
            std::vector<float> c(static_cast<std::size_t>(rows * columns * kTileFloats));
            for (float& value : c) value = any_value(random, 2 * smallest_exponent);
            const std::vector<float> expected = expected_block(*unit, walk, block, c);
            multiply(*unit, walk, block, c.data());
            ASSERT_EQ(bits_of(expected), bits_of(c))
                << unit->name << ", " << rows << " x " << columns << " tiles, add " << add
                << ", exponents from " << smallest_exponent;
          }
        }
      }
    }
  }
}

// Products of zeros and rows that nobody reads may be left out; the sign of a zero may tell.
TEST(Bf16Tiles, HasTheRowsThatAreReadWhatEverIsLeftOut) {
  QUERN_SKIP_WITHOUT_FUSED_PRODUCTS();
  std::mt19937 random(3);
  for (const TileUnit* unit : units()) {
    for (const int used_rows : {1, 4, 5, 8, 13, 16, 17, 20, 29, 32}) {
      for (const int last_pairs : {1, 7, 15, 16}) {
        std::vector<Bf16> a = any_tiles(random, 8, -20);
        const std::vector<Bf16> b = any_tiles(random, 8, -20);
        const TileWalk walk{a.data(),  b.data(), 4 * kTileBf16, 4 * kTileBf16, 2,         kTileBf16,
                            kTileBf16, 2,        2 * kTileBf16, 2 * kTileBf16, last_pairs};
        for (const std::size_t tile : {1u, 3u, 5u, 7u}) {
          for (std::size_t i = 0; i < kTileBf16; ++i)
            if (i % kTileDepth / 2 >= static_cast<std::size_t>(last_pairs))
              a[tile * kTileBf16 + i] = 0;
        }
        for (const int columns : {1, 2}) {
          const int rows = used_rows > kTileRows ? 2 : 1;
          for (const bool add : {false, true}) {
            const TileBlock block{
                .rows = rows, .columns = columns, .add = add, .used_rows = used_rows};
            std::vector<float> c(static_cast<std::size_t>(rows * columns * kTileFloats), 0.25f);
            const std::vector<float> expected = expected_block(*unit, walk, block, c);
            if (!add) std::fill(c.begin(), c.end(), std::numeric_limits<float>::quiet_NaN());
            multiply(*unit, walk, block, c.data());
            for (std::size_t i = 0; i < c.size(); ++i) {
              const int tile_row = static_cast<int>(i) / kTileFloats / columns;
              const int row = tile_row * kTileRows + static_cast<int>(i) % kTileFloats / kTileRows;
              if (row < used_rows)
                ASSERT_EQ(c[i], expected[i])
                    << unit->name << ", row " << row << " of " << used_rows;
              else
                ASSERT_TRUE(std::isfinite(c[i])) << unit->name << ", row " << row;
            }
          }
        }
      }
    }
  }
}

TEST(Bf16Tiles, CarriesWhatIsNotFiniteOn) {
  for (const TileUnit* unit : units()) {
    std::vector<Bf16> a(kTileBf16);
    std::vector<Bf16> b(kTileBf16);
    a[0] = 0x7F80;           // row 0: infinite
    a[kTileDepth] = 0x7FC0;  // row 1: not a number
    for (int n = 0; n < kTileRows; ++n) b[static_cast<std::size_t>(2 * n)] = 0x3F80;
    std::vector<float> c(kTileFloats);
    unit->multiply({a.data(), b.data()}, {1, 1, false}, c.data());
    for (int n = 0; n < kTileRows; ++n) {
      const auto at = static_cast<std::size_t>(n);
      EXPECT_EQ(c[at], std::numeric_limits<float>::infinity()) << unit->name;
      EXPECT_TRUE(std::isnan(c[kTileRows + at])) << unit->name;
      EXPECT_EQ(c[2 * kTileRows + at], 0) << unit->name;
    }
  }
}

TEST(SimdBf16, RoundsAsTheReferenceDoes) {
  std::vector<float> values = {0.0f,
                               -0.0f,
                               1.0f,
                               0x1.01p0f,
                               0x1.03p0f,
                               0x1.018p0f,
                               -0x1.01p0f,
                               std::numeric_limits<float>::max(),
                               std::numeric_limits<float>::infinity(),
                               -std::numeric_limits<float>::infinity(),
                               std::numeric_limits<float>::quiet_NaN(),
                               std::bit_cast<float>(0x7F800001u),
                               std::bit_cast<float>(0xFFFFFFFFu),
                               std::numeric_limits<float>::min(),
                               std::numeric_limits<float>::min() / 2,
                               -std::numeric_limits<float>::denorm_min(),
                               std::bit_cast<float>(0x007FFFFFu)};
  std::mt19937 random(2);
  while (values.size() < 32 * 4096)
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  for (std::size_t i = 0; i + 32 <= values.size(); i += 32) {
    Bf16 pairs[32];
    Bf16 sequence[32];
    float back[32];
    const simd::Vector low = simd::load(&values[i]);
    const simd::Vector high = simd::load(&values[i + 16]);
    const simd::Vector both = simd::round_pairs(low, high);
    simd::store_pairs(pairs, both);
    simd::store_pairs(sequence, simd::round_sequence(low, high));
    simd::store(back, simd::first_of_pairs(both));
    simd::store(back + 16, simd::second_of_pairs(both));
    for (std::size_t l = 0; l < 16; ++l) {
      const Bf16 first = reference::to_bf16(values[i + l]);
      const Bf16 second = reference::to_bf16(values[i + 16 + l]);
      ASSERT_EQ(pairs[2 * l], first) << std::bit_cast<std::uint32_t>(values[i + l]);
      ASSERT_EQ(pairs[2 * l + 1], second);
      ASSERT_EQ(sequence[l], first);
      ASSERT_EQ(sequence[16 + l], second);
      ASSERT_EQ(std::bit_cast<std::uint32_t>(back[l]), std::uint32_t{first} << 16);
      ASSERT_EQ(std::bit_cast<std::uint32_t>(back[16 + l]), std::uint32_t{second} << 16);
    }
  }
}

}  // namespace
}  // namespace quern::host
