// SPDX-License-Identifier: Apache-2.0
// Every file of recipes/ is good, and the workloads are what the tutorials ran.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "config/read_recipe.hpp"
#include "config/write_recipe.hpp"
#include "support/source_folder.hpp"

namespace quern {
namespace {

const std::filesystem::path kRecipes = test::source_folder() / "recipes";
const std::filesystem::path kGolden = test::source_folder() / "tests/golden";

Recipe shipped(const std::string& name) {
  return read_recipe(kRecipes / (name + ".toml"));
}

std::vector<int> features_of(const Recipe& recipe) {
  std::vector<int> features;
  for (const LayerSpec& layer : recipe.network.layers) {
    if (layer.type == LayerType::linear) features.push_back(layer.features);
  }
  return features;
}

TEST(ShippedRecipes, AllAreReadAndNamedAfterTheirFile) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kRecipes)) {
    if (entry.path().extension() != ".toml") continue;
    const Recipe recipe = read_recipe(entry.path());
    EXPECT_EQ(recipe.name, entry.path().stem());
    EXPECT_EQ(parse_recipe(to_toml(recipe), "resolved"), recipe) << entry.path();
    names.insert(recipe.name);
  }
  for (const char* name :
       {"quickstart", "mlp-mnist", "lenet-fashion", "autoencoder-mnist", "ddp-toy", "scatter-toy",
        "trainer-series", "trainer-series-batchnorm", "resnet18", "resnet50", "resnet20-fashion",
        "darcy-surrogate", "unet-darcy"}) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
}

TEST(ShippedRecipes, MlpMnist) {
  const Recipe recipe = shipped("mlp-mnist");
  EXPECT_EQ(recipe.global_batch(6), 768);
  EXPECT_EQ(recipe.train.epochs, 2);
  EXPECT_EQ(recipe.optimizer.type, OptimizerType::adam);
  EXPECT_EQ(recipe.optimizer.lr, 1e-3);
  EXPECT_EQ(features_of(recipe), (std::vector<int>{128, 128, 128, 10}));
}

TEST(ShippedRecipes, LenetFashion) {
  const Recipe recipe = shipped("lenet-fashion");
  EXPECT_EQ(recipe.global_batch(3), 256);
  EXPECT_EQ(recipe.train.epochs, 10);
  EXPECT_EQ(recipe.optimizer.lr, 0.2);
  EXPECT_EQ(recipe.network.init, (InitSpec{InitType::normal, 0.01}));
  EXPECT_EQ(features_of(recipe), (std::vector<int>{128, 10}));
}

TEST(ShippedRecipes, QuickstartTrainsTheSameLenet) {
  const Recipe recipe = shipped("quickstart");
  const Recipe lenet = shipped("lenet-fashion");
  EXPECT_EQ(recipe.network.layers, lenet.network.layers);
  EXPECT_EQ(recipe.data.train, lenet.data.train);
  EXPECT_EQ(recipe.data.test, lenet.data.test);
  EXPECT_EQ(recipe.global_batch(2), 128);
  EXPECT_EQ(recipe.optimizer.type, OptimizerType::adam);
  EXPECT_EQ(recipe.network.init, InitSpec{});
}

// Convolutions, without those of shortcuts, and the linear layer give a network its number.
TEST(ShippedRecipes, ResidualNetworksHaveTheirDepth) {
  for (const auto& [name, depth] :
       {std::pair("resnet18", 18), std::pair("resnet50", 50), std::pair("resnet20-fashion", 20)}) {
    const Recipe recipe = shipped(name);
    int count = 0;
    for (const LayerSpec& layer : recipe.network.layers) {
      const bool is_shortcut = layer.name.find("downsample") != std::string::npos;
      const bool has_weights = layer.type == LayerType::conv2d || layer.type == LayerType::linear;
      count += has_weights && !is_shortcut ? 1 : 0;
    }
    EXPECT_EQ(count, depth) << name;
    EXPECT_EQ(recipe.network.init.type, InitType::kaiming) << name;
  }
  EXPECT_EQ(shipped("resnet20-fashion").optimizer.decay, DecayScope::weights);
  EXPECT_EQ(shipped("resnet50").global_batch(2), 120);
}

TEST(ShippedRecipes, AutoencoderMnistEndsInReluAndAimsAtItsInput) {
  const Recipe recipe = shipped("autoencoder-mnist");
  EXPECT_EQ(recipe.network.layers.back().type, LayerType::relu);
  EXPECT_EQ(recipe.data.target, TargetType::input);
  EXPECT_EQ(recipe.loss.type, LossType::mse);
  EXPECT_EQ(features_of(recipe), (std::vector<int>{128, 128, 128, 784}));
}

// PyTorch's numbers in tests/golden are of these networks, losses and optimizers: convolutions,
// pools and activations too.
TEST(ShippedRecipes, AreThoseOfTheGoldenNumbers) {
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kGolden)) {
    const std::filesystem::path file = kRecipes / entry.path().filename();
    if (entry.path().extension() != ".toml" || !exists(file)) continue;
    SCOPED_TRACE(entry.path().filename());
    const Recipe golden = read_recipe(entry.path());
    const Recipe recipe = read_recipe(file);
    EXPECT_EQ(recipe.network, golden.network);
    EXPECT_EQ(recipe.loss, golden.loss);
    EXPECT_EQ(recipe.optimizer, golden.optimizer);
    EXPECT_EQ(recipe.seed, golden.seed);
    EXPECT_EQ(recipe.data.source, golden.data.source);
    EXPECT_EQ(recipe.data.target, golden.data.target);
    EXPECT_EQ(recipe.global_batch(6), golden.global_batch(6));
    ++compared;
  }
  EXPECT_EQ(compared, 4);
}

TEST(ShippedRecipes, ToysNeedNoFiles) {
  const Recipe ddp = shipped("ddp-toy");
  EXPECT_EQ(ddp.data.samples, ddp.global_batch(2));
  const Recipe scatter = shipped("scatter-toy");
  EXPECT_EQ(scatter.global_batch(4), 30);
  EXPECT_EQ(micro_block_size(scatter, 30), 1);
  const Recipe series = shipped("trainer-series");
  EXPECT_EQ(series.data.samples, 2048);
  const Recipe batch_norm = shipped("trainer-series-batchnorm");
  EXPECT_EQ(batch_norm.global_batch(3), series.global_batch(2));
  for (const Recipe& recipe : {ddp, scatter, series, batch_norm}) {
    EXPECT_EQ(recipe.data.source, DataSource::random) << recipe.name;
    EXPECT_EQ(recipe.data.target, TargetType::values) << recipe.name;
  }
}

}  // namespace
}  // namespace quern
