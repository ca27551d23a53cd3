// SPDX-License-Identifier: Apache-2.0
#include "samples/own_samples.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "comm/serial/communicator.hpp"
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
  expect_error(labelled({2}, {0, 1, 3}), ExitCode::bad_input,
               {"the program's samples: label 3 of sample 2 is out of range, expected 0 to 2"});
  for (const Shape& shape : {Shape{0}, Shape{-4}, Shape{-2, -2, 1}, Shape{65536, 65536, 1}})
    expect_error(labelled(shape, {0, 1, 2}), ExitCode::bad_input, {"expected extents from 1 on"});
  expect_error([] { make_labelled_samples({2}, kValues, kLabels, 0); }, ExitCode::bad_input,
               {"labels of 0 classes"});
  expect_error([] { make_target_samples({2}, kValues, -1, {}); }, ExitCode::bad_input,
               {"-1 targets for each sample, expected 0 or more"});
  expect_error([] { make_target_samples({2}, kValues, 3, kValues); }, ExitCode::bad_input,
               {"6 target values, expected 3 times 3"});
}

TEST(OwnSamples, NumbersMustBeFinite) {
  const float infinite = std::numeric_limits<float>::infinity();
  const std::vector<float> with_nan = {1, 2, 3, std::nanf(""), 5, 6};
  expect_error([&] { make_labelled_samples({2}, with_nan, kLabels, 3); }, ExitCode::bad_input,
               {"the program's samples: the values of sample 1 hold nan, expected finite"});
  expect_error(
      [&] {
        make_target_samples({2}, kValues, 1, std::vector<float>{0, 0, infinite});
      },
      ExitCode::bad_input,
      {"the program's samples: the targets of sample 2 hold inf or a number too large for float32, "
       "expected finite"});
}

namespace {

// Three samples in two classes.
Samples node_samples(const std::vector<float>& values, const std::vector<std::int32_t>& labels,
                     int classes = 3) {
  SerialCommunicator comm;
  const ShardContent content{.input = StoredType::float32,
                             .shape = {2},
                             .answer_type = StoredType::int32,
                             .classes = classes};
  return make_node_samples(comm, "mine", 3, content, [&](const SampleArrays& arrays) {
    std::ranges::copy(values, arrays.values.begin());
    std::ranges::copy(labels, arrays.labels.begin());
  });
}

}  // namespace

TEST(NodeSamples, HashNamesTheContent) {
  const Samples samples = node_samples(kValues, {0, 2, 1});
  EXPECT_EQ(to_vector(samples.values), kValues);
  EXPECT_EQ(samples.data_hash.size(), 64u);
  EXPECT_EQ(node_samples(kValues, {0, 2, 1}).data_hash, samples.data_hash);
  EXPECT_NE(node_samples(kValues, {0, 2, 2}).data_hash, samples.data_hash);
  EXPECT_NE(node_samples({1, 2, 3, 4, 5, 7}, {0, 2, 1}).data_hash, samples.data_hash);
}

TEST(NodeSamples, AreChecked) {
  const auto refuse = [](const std::vector<float>& values, const std::vector<std::int32_t>& labels,
                         int classes, const std::string& words) {
    expect_error([&] { node_samples(values, labels, classes); }, ExitCode::bad_input,
                 {"mine: " + words});
  };
  refuse({1, 2, 3, 4, std::nanf(""), 6}, {0, 2, 1}, 3, "the values of sample 2 hold nan");
  refuse(kValues, {0, 1000000, 1}, 3, "label 1000000 of sample 1 is out of range, expected 0 to 2");
  refuse(kValues, {-5, 0, 1}, 3, "label -5 of sample 0 is out of range");
  refuse(kValues, {0, 0, 0}, 0, "labels of 0 classes, expected at least one");
  SerialCommunicator comm;
  const auto refuse_names = [&](const std::vector<std::string>& features,
                                const std::vector<std::string>& classes, const std::string& words) {
    const ShardContent content{.input = StoredType::float32,
                               .shape = {2},
                               .answer_type = StoredType::int32,
                               .classes = 3,
                               .class_names = classes,
                               .feature_names = features};
    expect_error([&] { make_node_samples(comm, "mine", 3, content, [](const SampleArrays&) {}); },
                 ExitCode::bad_input, {"mine: " + words});
  };
  refuse_names({"u", "v", "w"}, {}, "3 names for samples of 2 numbers, expected one name for each");
  refuse_names({"u"}, {}, "1 name for samples of 2 numbers");
  refuse_names({"u", "v\nw"}, {}, "'v\\x0aw' is no name for a feature, expected one line of UTF-8");
  refuse_names({}, {"cat", "dog"},
               "3 classes, but the classes have 2 names, expected one for each");
  for (const Shape& shape : {Shape{0}, Shape{-2, -2, 1}, Shape{1 << 20}}) {
    const ShardContent content{
        .input = StoredType::float32, .shape = shape, .answer = Answer::none};
    expect_error(
        [&] {
          make_node_samples(comm, "mine", std::int64_t{1} << 44, content,
                            [](const SampleArrays&) {});
        },
        ExitCode::bad_input, {"mine: 17592186044416 samples, ", "expected extents from 1 on"});
  }
}

}  // namespace quern::test
