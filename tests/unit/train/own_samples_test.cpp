// SPDX-License-Identifier: Apache-2.0
#include "train/own_samples.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/expect_error.hpp"
#include "support/views.hpp"

namespace quern::test {

namespace {

const std::vector<float> kValues = {1, 2, 3, 4, 5, 6};
const std::vector<std::uint8_t> kLabels = {0, 2, 1};

}  // namespace

TEST(OwnSamples, Labelled) {
  const Samples samples = make_labelled_samples({2}, kValues, kLabels, 3);
  EXPECT_EQ(samples.count, 3);
  EXPECT_EQ(samples.classes, 3);
  EXPECT_EQ(to_vector(samples.values), kValues);
  EXPECT_EQ(samples.labels.extent(0), 3u);
  EXPECT_EQ(samples.data_hash.size(), 64u);
}

TEST(OwnSamples, Targets) {
  const std::vector<float> targets = {7, 8};
  const Samples samples = make_target_samples({3}, kValues, 1, targets);
  EXPECT_EQ(samples.count, 2);
  EXPECT_EQ(to_vector(samples.targets), targets);
  EXPECT_EQ(make_target_samples({3}, kValues, 0, {}).targets.extent(0), 0u);
}

TEST(OwnSamples, HashNamesTheContent) {
  const auto hash = [](const std::vector<float>& values, const std::vector<std::uint8_t>& labels) {
    return make_labelled_samples({2}, values, labels, 3).data_hash;
  };
  EXPECT_EQ(hash(kValues, kLabels), hash(kValues, kLabels));
  EXPECT_NE(hash(kValues, kLabels), hash(kValues, {0, 2, 2}));
  EXPECT_NE(hash(kValues, kLabels), hash({1, 2, 3, 4, 5, 7}, kLabels));
}

TEST(OwnSamples, SizesMustFit) {
  const auto labelled = [](const Shape& shape, const std::vector<std::uint8_t>& labels) {
    return [shape, labels] { make_labelled_samples(shape, kValues, labels, 3); };
  };
  expect_error(labelled({4}, {0}), ExitCode::bad_input, {"6 values", "of the 4 of a sample [4]"});
  expect_error(labelled({2}, {0, 1}), ExitCode::bad_input, {"2 labels for 3 samples"});
  expect_error(labelled({2}, {0, 1, 3}), ExitCode::bad_input, {"label 3 of sample 2", "below 3"});
  expect_error([] { make_target_samples({2}, kValues, 3, kValues); }, ExitCode::bad_input,
               {"6 target values, expected 3 times 3"});
}

}  // namespace quern::test
