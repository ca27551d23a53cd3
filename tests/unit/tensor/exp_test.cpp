// SPDX-License-Identifier: Apache-2.0
#include "tensor/exp.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace quern {
namespace {

TEST(ExpNormal, IsWithinOneUnitInTheLastPlace) {
  double worst = 0;
  for (int i = -87 * 4096; i <= 88 * 4096; ++i) {
    const float x = static_cast<float>(i) / 4096;
    const double exact = std::exp(double{x});
    const double unit = std::ldexp(1.0, std::ilogb(exact) - 23);
    worst = std::max(worst, std::abs(double{exp_normal(x)} - exact) / unit);
  }
  EXPECT_LT(worst, 1.0);
}

TEST(ExpNormal, Edges) {
  EXPECT_EQ(exp_normal(0.0f), 1.0f);
  EXPECT_EQ(exp_normal(-0.0f), 1.0f);
  EXPECT_EQ(exp_normal(-87.5f), 0.0f);
  EXPECT_EQ(exp_normal(-std::numeric_limits<float>::infinity()), 0.0f);
  EXPECT_TRUE(std::isnan(exp_normal(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace quern
