// SPDX-License-Identifier: Apache-2.0
// Whole training steps with the kernels for devices, run on a CPU, against those with the CPU's
// own: the same bits.
#include <gtest/gtest.h>

#include "support/fused_products.hpp"
#include "support/tensor_networks.hpp"
#include "support/train_grid.hpp"
#include "support/train_samples.hpp"

namespace quern::test {

namespace {

Trained train(const Recipe& recipe, const Samples& samples, bool device_kernels) {
  const WithKernels kernels(device_kernels);
  return train_alone(recipe, samples, 6);  // two epochs
}

class DeviceKernels : public ::testing::TestWithParam<std::vector<std::string>> {};

TEST_P(DeviceKernels, TrainToTheSameBits) {
  QUERN_SKIP_WITHOUT_FUSED_PRODUCTS();
  const Samples samples = image_samples(70, kImage, 5);
  const Recipe recipe = image_recipe(33, GetParam());
  const Trained host = train(recipe, samples, false);
  const Trained device = train(recipe, samples, true);
  EXPECT_EQ(host.losses, device.losses);
  EXPECT_EQ(host.tensors, device.tensors);
  EXPECT_EQ(host.test.loss, device.test.loss);
}

constexpr const char* kImageLayers =
    "network.layers=[{type = \"conv2d\", channels = 9, kernel = 3, padding = 1}, {type = \"relu\"},"
    " {type = \"max_pool2d\", size = 3, stride = 1}, {type = \"dropout\", p = 0.3},"
    " {type = \"conv2d\", channels = 4, kernel = 2, stride = 2}, {type = \"tanh\"},"
    " {type = \"avg_pool2d\", size = 2, stride = 1}, {type = \"flatten\"},"
    " {type = \"linear\", features = 5}]";
constexpr const char* kAutoEncoder =
    "network.layers=[{type = \"flatten\"}, {type = \"linear\", features = 17}, {type = \"relu\"},"
    " {type = \"linear\", features = 36}, {type = \"gelu\"}]";
constexpr const char* kEndsWithRelu =
    "network.layers=[{type = \"flatten\"}, {type = \"linear\", features = 36}, {type = \"relu\"}]";
constexpr const char* kBatchNorm =
    "network.layers=[{type = \"conv2d\", channels = 9, kernel = 3}, {type = \"batch_norm\"},"
    " {type = \"relu\"}, {type = \"conv2d\", channels = 4, kernel = 2},"
    " {type = \"batch_norm\", statistics = \"block\"}, {type = \"relu\"},"
    " {type = \"flatten\"}, {type = \"linear\", features = 19}, {type = \"batch_norm\"},"
    " {type = \"tanh\"}, {type = \"linear\", features = 5}]";
constexpr const char* kLayerNorm =
    "network.layers=[{type = \"conv2d\", channels = 9, kernel = 3}, {type = \"layer_norm\"},"
    " {type = \"group_norm\", groups = 3}, {type = \"relu\"}, {type = \"conv2d\", channels = 4, "
    "kernel = 2}, {type = \"layer_norm\"},"
    " {type = \"flatten\"}, {type = \"linear\", features = 19}, {type = \"layer_norm\"},"
    " {type = \"gelu\"}, {type = \"linear\", features = 5}]";
constexpr const char* kImageToImage =
    "network.layers=[{type = \"conv2d\", channels = 1, kernel = 3, padding = 1}]";

INSTANTIATE_TEST_SUITE_P(
    Recipes, DeviceKernels,
    ::testing::Values(std::vector<std::string>{},
                      std::vector<std::string>{"train.micro_block=3", "optimizer.clip_norm=0.5"},
                      std::vector<std::string>{kImageLayers, "optimizer.type=adamw"},
                      Sets{kImageLayers, "parallel.tensor_slices=4"},
                      Sets{kSlicedLeNet, "parallel.tensor_slices=8"},
                      std::vector<std::string>{kBatchNorm}, std::vector<std::string>{kLayerNorm},
                      std::vector<std::string>{"loss.type=mse", "data.target=input", kAutoEncoder},
                      std::vector<std::string>{"loss.type=mse", "data.target=input", kEndsWithRelu},
                      std::vector<std::string>{"loss.type=mse", "data.target=input",
                                               kImageToImage}));

// Losses that are a little different, and go down alike: of convolutions, of linear layers, of
// both.
TEST(DevicePrecision, ReachesTheProducts) {
  const Samples samples = image_samples(70, kImage, 5);
  const std::vector<std::vector<std::string>> recipes = {
      {kImageLayers},
      {"loss.type=mse", "data.target=input", kAutoEncoder},
      {"loss.type=mse", "data.target=input", kImageToImage}};
  for (const std::vector<std::string>& recipe : recipes) {
    const auto losses = [&](const std::string& precision) {
      std::vector<std::string> settings = recipe;
      settings.push_back("train.precision=" + precision);
      return train(image_recipe(33, settings), samples, true).losses;
    };
    const std::vector<double> expected = losses("fp32");
    for (const auto& [precision, tolerance] : {std::pair("tf32", 1e-3), std::pair("bf16", 1e-2)}) {
      const std::vector<double> actual = losses(precision);
      ASSERT_EQ(expected.size(), actual.size());
      EXPECT_NE(expected, actual) << precision;
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(actual[i] / expected[i], 1, tolerance) << precision << ", step " << i;
    }
  }
}

}  // namespace

}  // namespace quern::test
