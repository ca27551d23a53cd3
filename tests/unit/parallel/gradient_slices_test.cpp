// SPDX-License-Identifier: Apache-2.0
#include "parallel/gradient_slices.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace quern {
namespace {

TEST(GradientSlices, CoverTheGradientInWholeVectors) {
  for (const std::int64_t num_floats : {1, 15, 16, 17, 100, 1000, 4099}) {
    for (int ranks = 1; ranks <= 9; ++ranks) {
      const GradientSlices slices(num_floats, ranks);
      std::int64_t next = 0;
      int votes = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(slices.begin(rank), next);
        EXPECT_TRUE(slices.begin(rank) % 16 == 0 || slices.count(rank) == 0);
        next = slices.end(rank);
        votes += slices.num_votes(rank);
        EXPECT_TRUE(slices.num_votes(rank) == 0 || next == num_floats);
      }
      EXPECT_EQ(next, num_floats);
      EXPECT_EQ(votes, 1) << num_floats << " floats, " << ranks << " ranks";
    }
  }
}

TEST(GradientSlices, AreOfEqualSize) {
  const GradientSlices slices(1000, 4);
  EXPECT_EQ(slices.slice_size(), 256);
  EXPECT_EQ(slices.count(3), 1000 - 3 * 256);
}

TEST(GradientSlices, RefuseNonsense) {
  EXPECT_THROW(GradientSlices(0, 1), Error);
  EXPECT_THROW(GradientSlices(1, 0), Error);
}

}  // namespace
}  // namespace quern
