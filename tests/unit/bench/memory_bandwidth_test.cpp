// SPDX-License-Identifier: Apache-2.0
#include "bench/memory_bandwidth.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace quern {
namespace {

// How fast it is depends on the machine; but no core reads more than a few vectors a cycle. If the
// compiler left out the reading, a try would take next to no time, and the rate be a thousand times
// this bound.
TEST(ReadBandwidth, IsWhatACoreCanRead) {
  const ExecSpace exec;
  const double bound = kHostExecution ? 2e12 * exec.concurrency() : 1e14;
  for (const std::int64_t bytes : {0, 5000, 1 << 20}) {
    const double rate = ReadBandwidth(exec, bytes).measure(exec);
    EXPECT_GT(rate, 1e6) << bytes;
    EXPECT_LT(rate, bound) << bytes;
  }
}

}  // namespace
}  // namespace quern
