// SPDX-License-Identifier: Apache-2.0
// How much of a processor each thread of a node has.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "runtime/binding.hpp"
#include "runtime/cpu_mask.hpp"
#include "support/world.hpp"

namespace quern::test {

using quern::testing::world;

TEST(ProcessorShare, IsThatOfAllThreadsOfTheNode) {
  const auto processors = static_cast<int>(allowed_cpus().size());
  ASSERT_GT(processors, 0);
  EXPECT_DOUBLE_EQ(processor_share(world(), processors), 1.0 / world().size());
  EXPECT_DOUBLE_EQ(processor_share(world(), 3 * processors), 1.0 / (3 * world().size()));
  const int one = world().rank() == 0 ? 7 * processors : processors;
  EXPECT_DOUBLE_EQ(processor_share(world(), one), 1.0 / (6 + world().size()));
  if (world().size() <= processors) {
    EXPECT_EQ(processor_share(world(), 1), 1);
  }
}

// Ranks that are bound apart have the processors of all of them.
TEST(ProcessorShare, CountsEachProcessorOnce) {
  const std::vector<int> all = allowed_cpus();
  const auto processors = static_cast<int>(all.size());
  const int parts = std::min(processors, world().size());
  const std::vector<int> own = share_of_cpus(all, world().rank() % parts, parts);
  std::int64_t wanted = std::ssize(own);
  world().all_reduce_sum(std::span(&wanted, 1));
  ASSERT_TRUE(restrict_to_cpus(own));
  const double share = static_cast<double>(processors) / static_cast<double>(wanted);
  EXPECT_DOUBLE_EQ(processor_share(world(), static_cast<int>(own.size())), share);
  EXPECT_DOUBLE_EQ(processor_share(world(), 2 * static_cast<int>(own.size())), share / 2);
  EXPECT_TRUE(restrict_to_cpus(all));
}

}  // namespace quern::test
