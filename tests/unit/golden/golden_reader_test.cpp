// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "io/h5_file.hpp"
#include "support/golden.hpp"
#include "support/temp_dir.hpp"

namespace quern::test {
namespace {

using testing::ElementsAre;

GoldenTensor strided_tensor() {
  // The tensor 0, 1, ..., 9; every third element is stored.
  return {.shape = {2, 5}, .values = {0, 3, 6, 9}, .stride = 3, .sum = 45, .norm = std::sqrt(285)};
}

std::vector<float> whole_tensor() {
  return {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
}

TEST(Golden, FilesHoldWhatTheirRecipesSay) {
  for (const std::string name : {"mlp-mnist", "lenet-fashion", "autoencoder-mnist"}) {
    SCOPED_TRACE(name);
    const Golden golden = load_golden(name);
    EXPECT_EQ(golden.steps, 20);
    EXPECT_EQ(golden.losses.size(), 20);
    EXPECT_EQ(golden.losses_exact.size(), 20);
    EXPECT_EQ(static_cast<std::int64_t>(golden.order.size()), 20 * golden.batch);
    EXPECT_EQ(golden.outputs.shape[0], 8);
    EXPECT_EQ(golden.after_steps.size(), 1);
    EXPECT_NE(golden.recipe.find("name = \"" + name + "\""), std::string::npos);
    EXPECT_EQ(golden.gradients.size(), golden.initial.size());
  }
}

TEST(Golden, ToyFilesHoldTheirSamples) {
  const Golden values = load_golden("ddp-toy");
  EXPECT_THAT(values.inputs.shape, ElementsAre(20, 10));
  EXPECT_THAT(values.target_values.shape, ElementsAre(20, 5));
  EXPECT_TRUE(values.order.empty());
  const Golden labels = load_golden("conv-odd");
  EXPECT_THAT(labels.inputs.shape, ElementsAre(13, 3, 11, 9));
  EXPECT_EQ(labels.target_labels.size(), 13);
  EXPECT_EQ(load_golden("adamw-clip").gradient_norms.size(), 5);
}

TEST(Golden, LargeGradientsAreSampledAndInitialWeightsAreWhole) {
  const Golden golden = load_golden("lenet-fashion");
  const GoldenTensor& gradient = golden.gradients.at("conv2.weight");
  EXPECT_THAT(gradient.shape, ElementsAre(50, 20, 5, 5));
  EXPECT_EQ(gradient.stride, 13);
  const GoldenTensor& initial = golden.initial.at("conv2.weight");
  EXPECT_TRUE(is_close(initial, initial.values, 1e-12));
}

TEST(Golden, FirstOutputsOfDdpToyFollowFromTheStoredWeights) {
  const Golden golden = load_golden("ddp-toy");
  const auto& weight1 = golden.initial.at("fc1.weight").values;
  const auto& bias1 = golden.initial.at("fc1.bias").values;
  const auto& weight2 = golden.initial.at("fc2.weight").values;
  const auto& bias2 = golden.initial.at("fc2.bias").values;
  std::vector<float> outputs;
  for (std::size_t n = 0; n < 20; ++n) {
    std::vector<double> hidden(10);
    for (std::size_t o = 0; o < 10; ++o) {
      hidden[o] = bias1[o];
      for (std::size_t i = 0; i < 10; ++i) {
        hidden[o] += double{weight1[o * 10 + i]} * golden.inputs.values[n * 10 + i];
      }
      hidden[o] = std::max(hidden[o], 0.0);
    }
    for (std::size_t o = 0; o < 5; ++o) {
      double sum = bias2[o];
      for (std::size_t i = 0; i < 10; ++i) sum += double{weight2[o * 10 + i]} * hidden[i];
      outputs.push_back(static_cast<float>(sum));
    }
  }
  expect_close(golden.outputs, outputs, 1e-6);
}

TEST(GoldenCompare, AcceptsTheTensorItself) {
  EXPECT_TRUE(is_close(strided_tensor(), whole_tensor(), 1e-12));
}

TEST(GoldenCompare, SeesOneWrongElementWhetherStoredOrNot) {
  for (std::size_t at = 0; at < 10; ++at) {
    std::vector<float> actual = whole_tensor();
    actual[at] += 0.1f;
    EXPECT_FALSE(is_close(strided_tensor(), actual, 1e-3)) << at;
  }
}

TEST(GoldenCompare, SeesAStoredElementExchangedWithANeighbour) {
  // Neither norm nor sum changes.
  std::vector<float> actual = whole_tensor();
  std::swap(actual[3], actual[4]);
  EXPECT_FALSE(is_close(strided_tensor(), actual, 1e-3));
}

TEST(GoldenCompare, NormSeesWhatTheSumCannot) {
  std::vector<float> actual = whole_tensor();
  actual[4] += 0.1f;
  actual[1] -= 0.1f;
  EXPECT_FALSE(is_close(strided_tensor(), actual, 1e-3));
}

TEST(GoldenCompare, SumSeesWhatTheNormCannot) {
  std::vector<float> actual = whole_tensor();
  actual[4] = -4;
  EXPECT_FALSE(is_close(strided_tensor(), actual, 1e-3));
}

TEST(GoldenCompare, SeesNotANumberAndWrongSize) {
  std::vector<float> actual = whole_tensor();
  actual[1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(is_close(strided_tensor(), actual, 1e-3));
  actual = whole_tensor();
  actual.pop_back();
  EXPECT_FALSE(is_close(strided_tensor(), actual, 1e-3));
}

TEST(GoldenCompare, ExpectCloseFailsTheTest) {
  EXPECT_NONFATAL_FAILURE(expect_close(strided_tensor(), std::vector<float>(10), 1e-3),
                          "expected 3 within");
}

TEST(Golden, RefusesOtherFiles) {
  EXPECT_THROW(load_golden("no-such-recipe"), InputError);
  const TempDir folder;
  const std::string path = folder / "not-golden.h5";
  {
    H5File file = H5File::create(path);
    file.write_string("/", "format", "quern-shard");
    file.write_int64("/", "format_version", 1);
    file.close();
  }
  EXPECT_THROW(load_golden_file(path), InputError);
}

}  // namespace
}  // namespace quern::test
