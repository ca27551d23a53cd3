// SPDX-License-Identifier: Apache-2.0
#include "base/float16.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace quern {
namespace {

TEST(Float16, EveryHalfIsItsValue) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const int exponent = bits >> 10 & 0x1f;
    const int fraction = bits & 0x3ff;
    const float value = float_of_half(static_cast<std::uint16_t>(bits));
    EXPECT_EQ(std::signbit(value), (bits & 0x8000) != 0);
    if (exponent == 0x1f) {
      EXPECT_EQ(std::isnan(value), fraction != 0);
      EXPECT_FALSE(std::isfinite(value));
      continue;
    }
    const double expected =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    ASSERT_EQ(std::abs(value), expected) << bits;
  }
}

TEST(Float16, EveryHalfIsReadBackAsItself) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = float_of_half(half);
    if ((half & 0x7c00) == 0x7c00 && (half & 0x3ff) != 0) {
      EXPECT_TRUE(std::isnan(value));
      EXPECT_TRUE(std::isnan(float_of_half(half_of_float(value))));
    } else {
      EXPECT_EQ(half_of_float(value), half);
    }
  }
}

TEST(Float16, TiesGoToEven) {
  EXPECT_EQ(half_of_float(2049), half_of_float(2048));
  EXPECT_EQ(half_of_float(2051), half_of_float(2052));
  EXPECT_EQ(half_of_float(65519), 0x7bff);
  EXPECT_EQ(half_of_float(65520), 0x7c00);
  EXPECT_EQ(half_of_float(0x1p-25f), 0);
  EXPECT_EQ(half_of_float(0x1.8p-25f), 1);
  EXPECT_EQ(half_of_float(-std::numeric_limits<float>::infinity()), 0xfc00);
}

}  // namespace
}  // namespace quern
