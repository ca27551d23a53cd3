// SPDX-License-Identifier: Apache-2.0
#include "base/flush_denormals.hpp"

#include <gtest/gtest.h>

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

TEST(FlushDenormals, MakesZerosOfOperandsAndResultsForAScope) {
  const float denormal = times(kSmallest, 0.5f);
  ASSERT_GT(denormal, 0.0f);
  {
    const FlushDenormals flush;
    EXPECT_EQ(times(kSmallest, 0.5f), 0.0f);
    EXPECT_EQ(times(denormal, 0x1p60f), 0.0f);
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
  EXPECT_EQ(product, 0.0f);
}

TEST(FlushDenormals, CanBeSetForAThread) {
  float product = 1;
  std::thread([&] {
    FlushDenormals::on_this_thread();
    product = times(kSmallest, 0.5f);
  }).join();
  EXPECT_EQ(product, 0.0f);
  EXPECT_GT(times(kSmallest, 0.5f), 0.0f);
}

}  // namespace
}  // namespace quern
