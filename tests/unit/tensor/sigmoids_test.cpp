// SPDX-License-Identifier: Apache-2.0
#include "tensor/sigmoids.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

namespace quern {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Calls check(x) for floats of every size, from the smallest normal numbers to `largest`, of both
/// signs.
void for_floats(float largest, const std::function<void(float)>& check) {
  for (float x = std::numeric_limits<float>::min(); x < largest; x *= 1.0003f) {
    check(x);
    check(-x);
  }
}

double unit_of(double exact) {
  return std::ldexp(1.0, std::ilogb(exact) - 23);
}

TEST(Sigmoid, IsExactToThreeUnitsInTheLastPlace) {
  double worst = 0;
  for_floats(86, [&](float x) {
    const double exact = 1 / (1 + std::exp(-double{x}));
    worst = std::max(worst, std::abs(sigmoid(x) - exact) / unit_of(exact));
  });
  EXPECT_LT(worst, 3);
}

TEST(Tanh, IsExactToTwoUnitsInTheLastPlace) {
  double worst = 0;
  for_floats(100, [&](float x) {
    const double exact = std::tanh(double{x});
    worst = std::max(worst, std::abs(tanh_plain(x) - exact) / unit_of(exact));
  });
  EXPECT_LT(worst, 2);
}

TEST(NormalDistribution, IsExactToWhatItsDeclarationSays) {
  double worst_above = 0;
  double worst_below = 0;
  double worst_tail = 0;
  double worst_density = 0;
  for_floats(12.9f, [&](float x) {
    const NormalDistribution normal = normal_distribution(x);
    const double exact = std::erfc(-double{x} / std::numbers::sqrt2) / 2;
    const double error = std::abs(normal.below - exact);
    if (x > 0)
      worst_above = std::max(worst_above, error / unit_of(exact));
    else
      (x > -5 ? worst_below : worst_tail) =
          std::max(x > -5 ? worst_below : worst_tail, error / exact);
    const double density = std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
    worst_density = std::max(worst_density, std::abs(normal.density / density - 1));
  });
  EXPECT_LT(worst_above, 4);
  EXPECT_LT(worst_below, 1e-6);
  EXPECT_LT(worst_tail, 5e-6);
  EXPECT_LT(worst_density, 5e-6);
}

TEST(Sigmoids, SaturateAtHugeAndInfiniteNumbers) {
  for (const float x : {100.0f, 1e30f, kInfinity}) {
    EXPECT_EQ(sigmoid(x), 1.0f);
    EXPECT_EQ(sigmoid(-x), 0.0f);
    EXPECT_EQ(tanh_plain(x), 1.0f);
    EXPECT_EQ(tanh_plain(-x), -1.0f);
    EXPECT_EQ(normal_distribution(x).below, 1.0f);
    EXPECT_EQ(normal_distribution(-x).below, 0.0f);
    EXPECT_EQ(normal_distribution(-x).density, 0.0f);
  }
}

TEST(Sigmoids, AreExactAtZero) {
  EXPECT_EQ(sigmoid(0.0f), 0.5f);
  EXPECT_EQ(tanh_plain(0.0f), 0.0f);
  EXPECT_EQ(normal_distribution(0.0f).below, 0.5f);
}

TEST(Sigmoids, NanStaysNan) {
  EXPECT_TRUE(std::isnan(sigmoid(kNan)));
  EXPECT_TRUE(std::isnan(tanh_plain(kNan)));
  EXPECT_TRUE(std::isnan(normal_distribution(kNan).below));
  EXPECT_TRUE(std::isnan(normal_distribution(kNan).density));
}

}  // namespace
}  // namespace quern
