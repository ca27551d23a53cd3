// SPDX-License-Identifier: Apache-2.0
#include "app/sample_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "support/expect_error.hpp"

namespace quern {
namespace {

// Pixels are twice the number of their sample, and one more; labels are the number.
SampleSet numbered(int count) {
  SampleSet set;
  set.count = count;
  set.range = {0, count};
  set.content.shape = {1, 1, 2};
  set.content.classes = count;
  set.images.resize(2 * static_cast<std::size_t>(count));
  std::iota(set.images.begin(), set.images.end(), std::uint8_t{0});
  set.labels.resize(static_cast<std::size_t>(count));
  std::iota(set.labels.begin(), set.labels.end(), 0);
  return set;
}

TEST(SampleOrder, SamplesStayWhole) {
  SampleSet set = numbered(30);
  shuffle_samples(set, 5);
  std::vector<std::int32_t> seen = set.labels;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(set.images[2 * i], 2 * seen[i]);
    EXPECT_EQ(set.images[2 * i + 1], 2 * seen[i] + 1);
  }
  EXPECT_NE(seen, numbered(30).labels);
  std::ranges::sort(seen);
  EXPECT_EQ(seen, numbered(30).labels);
  EXPECT_TRUE(set.values.empty());
}

TEST(SampleOrder, BothPartsHoldTheirOwnAlone) {
  SampleSet set = numbered(30);
  const SampleSet rest = split_off(set, 4);
  EXPECT_EQ(set.count, 26);
  EXPECT_EQ(set.range.count, 26);
  EXPECT_EQ(set.images.size(), 52u);
  EXPECT_EQ(set.labels.size(), 26u);
  EXPECT_EQ(rest.count, 4);
  EXPECT_EQ(rest.labels, (std::vector<std::int32_t>{26, 27, 28, 29}));
  EXPECT_EQ(rest.images.size(), 8u);
  EXPECT_EQ(rest.images.front(), 52);
  EXPECT_EQ(rest.content.classes, 30);
}

TEST(SampleOrder, AShareIsRoundedAndLeavesSamplesOnBothSides) {
  EXPECT_EQ(held_out_samples(0.1, 25), 3);
  EXPECT_EQ(held_out_samples(0.5, 2), 1);
  test::expect_error([] { held_out_samples(0.1, 4); }, ExitCode::bad_input, {"0 of 4 samples"});
  test::expect_error([] { held_out_samples(0.9, 4); }, ExitCode::bad_input, {"4 of 4 samples"});
}

}  // namespace
}  // namespace quern
