// SPDX-License-Identifier: Apache-2.0
#include "dataset/random_dataset.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace quern {
namespace {

TEST(RandomDataset, UniformInTheUnitInterval) {
  std::vector<float> inputs(20000);
  std::vector<float> targets(10000);
  fill_random_samples(1, inputs, targets);
  for (const auto* values : {&inputs, &targets}) {
    EXPECT_GE(*std::min_element(values->begin(), values->end()), 0.0f);
    EXPECT_LT(*std::max_element(values->begin(), values->end()), 1.0f);
    const double mean =
        std::accumulate(values->begin(), values->end(), 0.0) / static_cast<double>(values->size());
    EXPECT_NEAR(mean, 0.5, 0.015);
  }
}

TEST(RandomDataset, DependsOnSeedAndPlaceOnly) {
  std::vector<float> a(103);
  std::vector<float> b(50);
  std::vector<float> targets(103);
  fill_random_samples(1, a, targets);
  fill_random_samples(1, b, {});
  EXPECT_TRUE(std::equal(b.begin(), b.end(), a.begin()));
  EXPECT_NE(a, targets);
  fill_random_samples(2, b, {});
  EXPECT_FALSE(std::equal(b.begin(), b.end(), a.begin()));
}

TEST(RandomDataset, LabelsOfAllClassesEquallyOften) {
  for (const int classes : {1, 2, 10, 1000}) {
    std::vector<std::int32_t> labels(20000);
    fill_random_labels(1, classes, labels);
    std::vector<int> count(static_cast<std::size_t>(classes), 0);
    for (const std::int32_t label : labels) {
      ASSERT_GE(label, 0);
      ASSERT_LT(label, classes);
      ++count[static_cast<std::size_t>(label)];
    }
    const double expected = 20000.0 / classes;
    for (const int found : count) EXPECT_NEAR(found, expected, 6 * std::sqrt(expected));
    std::vector<std::int32_t> few(7);
    fill_random_labels(1, classes, few);
    EXPECT_TRUE(std::equal(few.begin(), few.end(), labels.begin()));
  }
}

}  // namespace
}  // namespace quern
