// SPDX-License-Identifier: Apache-2.0
#include "runtime/binding.hpp"

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace quern
