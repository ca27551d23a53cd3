// SPDX-License-Identifier: Apache-2.0
#include "tensor/log.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace quern {
namespace {

double units_off(float x) {
  const double exact = std::log(double{x});
  if (exact == 0) return std::abs(double{log_normal(x)}) * 1e30;
  const double unit = std::ldexp(1.0, std::ilogb(exact) - 23);
  return std::abs(double{log_normal(x)} - exact) / unit;
}

// Every float from 1/2 to 4, around the place where the logarithm is near 0.
TEST(LogNormal, IsWithinOneUnitInTheLastPlaceAroundOne) {
  double worst = 0;
  for (std::uint32_t bits = std::bit_cast<std::uint32_t>(0.5f);
       bits <= std::bit_cast<std::uint32_t>(4.0f); ++bits)
    worst = std::max(worst, units_off(std::bit_cast<float>(bits)));
  EXPECT_LT(worst, 1);
}

TEST(LogNormal, IsWithinOneUnitInTheLastPlaceEverywhere) {
  double worst = 0;
  for (std::uint32_t bits = 0x00800000u; bits < 0x7f800000u; bits += 997)
    worst = std::max(worst, units_off(std::bit_cast<float>(bits)));
  EXPECT_LT(worst, 1);
}

TEST(LogNormal, Edges) {
  EXPECT_EQ(log_normal(1.0f), 0.0f);
  EXPECT_TRUE(std::isnan(log_normal(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace quern
