// SPDX-License-Identifier: Apache-2.0
#include "linalg/memory_bandwidth.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace quern {
namespace {

// How fast it is depends on the machine; that it is a rate does not.
TEST(ReadBandwidth, IsAPositiveRateForAnySize) {
  const ExecSpace exec;
  for (const std::int64_t bytes : {0, 5000}) {
    const double rate = ReadBandwidth(exec, bytes).measure(exec);
    EXPECT_TRUE(std::isfinite(rate)) << bytes;
    EXPECT_GT(rate, 0) << bytes;
  }
}

}  // namespace
}  // namespace quern
