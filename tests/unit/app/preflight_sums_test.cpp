// SPDX-License-Identifier: Apache-2.0
// What preflight's all-reduce adds: the sum is the same in whatever order a library adds.
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "app/preflight/network.hpp"

namespace quern {
namespace {

// As a ring does it that begins at rank `first`.
float ring_sum(int ranks, int first, std::size_t i) {
  float sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += addend_of((first + rank) % ranks, i);
  return sum;
}

float tree_sum(int ranks, std::size_t i) {
  std::vector<float> sums;
  for (int rank = 0; rank < ranks; ++rank) sums.push_back(addend_of(rank, i));
  for (; sums.size() > 1; sums.resize((sums.size() + 1) / 2)) {
    for (std::size_t pair = 0; pair < sums.size(); pair += 2) {
      sums[pair / 2] = pair + 1 < sums.size() ? sums[pair] + sums[pair + 1] : sums[pair];
    }
  }
  return sums[0];
}

TEST(PreflightSums, AreTheSameInAnyOrder) {
  for (const int ranks :
       {1, 2, 3, 7, 15, 16, 17, 31, 100, 1000, 2364, 2365, 4096, 9999, 100000, 300000}) {
    for (std::size_t i = 0; i < 15; ++i) {
      const float expected = expected_sum(ranks, i);
      for (const int first : {0, 1, ranks / 3, ranks / 2, ranks - 1}) {
        ASSERT_EQ(ring_sum(ranks, first, i), expected) << ranks << " from " << first << ", " << i;
      }
      ASSERT_EQ(tree_sum(ranks, i), expected) << ranks << ", " << i;
    }
  }
}

TEST(PreflightSums, MissARankOrAnElement) {
  EXPECT_GT(expected_sum(3, 1), expected_sum(2, 1));
  EXPECT_EQ(expected_sum(20, 7), 0);
  for (int rank = 0; rank < 40; ++rank) EXPECT_GT(addend_of(rank, 6), 0);
}

}  // namespace
}  // namespace quern
