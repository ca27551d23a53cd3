// SPDX-License-Identifier: Apache-2.0
#include "base/flush_denormals.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <thread>

namespace quern {
namespace {

constexpr float kSmallest = std::numeric_limits<float>::min();

// Not known to the compiler.
float times(float a, float b) {
  volatile float left = a;
  volatile float right = b;
  return left * right;
}

// Comparisons of floats may take denormals for zeros themselves.
std::uint32_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

TEST(FlushDenormals, MakesZerosOfOperandsAndResultsForAScope) {
  const float denormal = times(kSmallest, 0.5f);
  ASSERT_GT(denormal, 0.0f);
  {
    const FlushDenormals flush;
    EXPECT_EQ(bits(times(kSmallest, 0.5f)), 0u);
    EXPECT_EQ(bits(times(denormal, 0x1p60f)), 0u);
    EXPECT_EQ(times(kSmallest, 2.0f), 2 * kSmallest);
  }
  EXPECT_EQ(times(kSmallest, 0.5f), denormal);
  EXPECT_GT(times(denormal, 0x1p60f), 0.0f);
}

TEST(FlushDenormals, IsInheritedByThreads) {
  float product = 1;
  {
    const FlushDenormals flush;
    std::thread([&] { product = times(kSmallest, 0.5f); }).join();
  }
  EXPECT_EQ(bits(product), 0u);
}

TEST(FlushDenormals, CanBeSetForAThread) {
  float product = 1;
  std::thread([&] {
    FlushDenormals::on_this_thread();
    product = times(kSmallest, 0.5f);
  }).join();
  EXPECT_EQ(bits(product), 0u);
  EXPECT_GT(times(kSmallest, 0.5f), 0.0f);
}

}  // namespace
}  // namespace quern
