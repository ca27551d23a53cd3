// SPDX-License-Identifier: Apache-2.0
#include "bench/cache_sizes.hpp"

#include <gtest/gtest.h>

namespace quern {
namespace {

TEST(CacheSizes, GrowWithTheThreadsUpToWhatThereIs) {
  const CacheSizes one = cache_sizes(1);
  const CacheSizes many = cache_sizes(1 << 20);
  EXPECT_GE(one.l2, 16 << 10);
  EXPECT_GE(one.l3, 256 << 10);
  EXPECT_GE(many.l2, one.l2);
  EXPECT_GE(many.l3, one.l3);
  EXPECT_EQ(many.l2 % one.l2, 0);
}

}  // namespace
}  // namespace quern
