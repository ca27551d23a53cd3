// SPDX-License-Identifier: Apache-2.0
#include "runtime/binding.hpp"

#include <gmock/gmock.h>

#include <thread>

#include "runtime/cpu_mask.hpp"

namespace quern {
namespace {

using ::testing::ElementsAre;

TEST(Binding, SharesAreEqualRunsOfNeighbours) {
  const std::vector<int> cpus = {0, 1, 2, 3, 8, 9, 10};
  EXPECT_THAT(share_of_cpus(cpus, 0, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(share_of_cpus(cpus, 1, 3), ElementsAre(3, 8));
  EXPECT_THAT(share_of_cpus(cpus, 2, 3), ElementsAre(9, 10));
}

TEST(Binding, OneRankOrTooFewProcessorsKeepAll) {
  const std::vector<int> cpus = {2, 3};
  EXPECT_EQ(share_of_cpus(cpus, 0, 1), cpus);
  EXPECT_EQ(share_of_cpus(cpus, 2, 3), cpus);
  EXPECT_TRUE(share_of_cpus({}, 0, 2).empty());
}

TEST(CpuMask, ListsAreShort) {
  EXPECT_EQ(cpu_list_text({0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(cpu_list_text({1, 3}), "1,3");
  EXPECT_EQ(cpu_list_text({}), "-");
}

TEST(CpuMask, RestrictingIsSeen) {
  const std::vector<int> all = allowed_cpus();
  ASSERT_FALSE(all.empty());
  std::vector<int> seen;
  // In a thread of its own: the rest of this test program keeps its processors.
  std::thread([&] {
    EXPECT_TRUE(restrict_to_cpus({all.back()}));
    seen = allowed_cpus();
  }).join();
  EXPECT_THAT(seen, ElementsAre(all.back()));
  EXPECT_FALSE(restrict_to_cpus({}));
}

TEST(CpuMask, ProcessorsThatAreNotThereAreRefused) {
  EXPECT_FALSE(restrict_to_cpus({1 << 14})) << "beyond a cpu_set_t, and beyond any Linux";
}

}  // namespace
}  // namespace quern
