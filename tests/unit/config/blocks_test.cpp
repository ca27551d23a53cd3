// SPDX-License-Identifier: Apache-2.0
// Entries of network.layers that stand for several layers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/recipe_difference.hpp"
#include "config/write_recipe.hpp"
#include "small_recipe.hpp"

namespace quern {
namespace {

using ::testing::HasSubstr;

/// The small recipe with `block` behind its ReLU.
std::string with_block(const std::string& block) {
  return small_recipe("  {type = \"relu\"},\n", "  {type = \"relu\"},\n  " + block + ",\n");
}

std::vector<LayerSpec> layers_of(const std::string& block,
                                 const std::vector<std::string>& sets = {}) {
  return parse_recipe(with_block(block), "r.toml", sets).network.layers;
}

std::vector<std::string> names_of(const std::vector<LayerSpec>& layers) {
  std::vector<std::string> names;
  for (const LayerSpec& layer : layers) names.push_back(layer.name);
  return names;
}

const LayerSpec& find(const std::vector<LayerSpec>& layers, const std::string& name) {
  for (const LayerSpec& layer : layers)
    if (layer.name == name) return layer;
  throw std::logic_error("no layer " + name);
}

LayerSpec convolution(const std::string& name, int channels, int kernel, int stride) {
  return {.type = LayerType::conv2d,
          .name = name,
          .channels = channels,
          .kernel = kernel,
          .stride = stride,
          .padding = kernel / 2,
          .bias = false};
}

// torchvision.models.resnet.BasicBlock, stage "layer1": 4 channels come in.
TEST(Blocks, ABasicBlockHasTheLayersOfTorchvision) {
  const std::vector<LayerSpec> layers =
      layers_of("{type = \"basic_block\", channels = 8, stride = 2, repeat = 2}");
  EXPECT_THAT(
      names_of(layers),
      testing::ElementsAre(
          "conv1", "relu1", "layer1.0.conv1", "layer1.0.bn1", "layer1.0.relu1", "layer1.0.conv2",
          "layer1.0.bn2", "layer1.0.downsample.0", "layer1.0.downsample.1", "layer1.0.add",
          "layer1.0.relu", "layer1.1.conv1", "layer1.1.bn1", "layer1.1.relu1", "layer1.1.conv2",
          "layer1.1.bn2", "layer1.1.add", "layer1.1.relu", "max_pool2d1", "flatten1", "fc1"));
  EXPECT_EQ(layers[2], convolution("layer1.0.conv1", 8, 3, 2));
  EXPECT_EQ(layers[5], convolution("layer1.0.conv2", 8, 3, 1));
  LayerSpec shortcut = convolution("layer1.0.downsample.0", 8, 1, 2);
  shortcut.inputs = {"relu1"};
  EXPECT_EQ(layers[7], shortcut);
  EXPECT_EQ(layers[8].type, LayerType::batch_norm);
  EXPECT_EQ(find(layers, "layer1.0.add").inputs,
            (std::vector<std::string>{"layer1.0.bn2", "layer1.0.downsample.1"}));
  EXPECT_EQ(find(layers, "layer1.1.conv1"), convolution("layer1.1.conv1", 8, 3, 1));
  EXPECT_EQ(find(layers, "layer1.1.add").inputs,
            (std::vector<std::string>{"layer1.1.bn2", "layer1.0.relu"}));
  EXPECT_EQ(find(layers, "layer1.1.relu").recipe_line, 12);
}

TEST(Blocks, ABottleneckPutsOutFourTimesItsChannels) {
  const std::vector<LayerSpec> layers =
      layers_of("{type = \"bottleneck\", name = \"stage\", channels = 2, stride = 3}");
  EXPECT_EQ(find(layers, "stage.0.conv1"), convolution("stage.0.conv1", 2, 1, 1));
  EXPECT_EQ(find(layers, "stage.0.conv2"), convolution("stage.0.conv2", 2, 3, 3));
  EXPECT_EQ(find(layers, "stage.0.conv3"), convolution("stage.0.conv3", 8, 1, 1));
  EXPECT_EQ(find(layers, "stage.0.downsample.0").channels, 8);
  EXPECT_EQ(find(layers, "stage.0.add").inputs,
            (std::vector<std::string>{"stage.0.bn3", "stage.0.downsample.1"}));
}

TEST(Blocks, AShortcutOfTheSameShapeComputesNothing) {
  for (const char* block : {"{type = \"basic_block\", channels = 4}",
                            "{type = \"bottleneck\", channels = 1, repeat = 3}"}) {
    for (const LayerSpec& layer : layers_of(block))
      EXPECT_THAT(layer.name, testing::Not(HasSubstr("downsample"))) << block;
  }
}

TEST(Blocks, KnowTheChannelsThatComeIn) {
  // Of the network's input, which is one channel; of another layer; of another block.
  EXPECT_EQ(names_of(layers_of("{type = \"basic_block\", channels = 1, input = \"input\"}"))[7],
            "layer1.0.add");
  const std::vector<LayerSpec> layers = layers_of(
      "{type = \"basic_block\", channels = 4, input = \"conv1\"},\n"
      "  {type = \"bottleneck\", channels = 1, repeat = 2},\n"
      "  {type = \"relu\", input = \"layer1\"},\n"
      "  {type = \"add\", inputs = [\"layer2\", \"relu2\", \"relu1\"]}");
  EXPECT_EQ(find(layers, "layer1.0.conv1").inputs, std::vector<std::string>{"conv1"});
  EXPECT_EQ(find(layers, "layer2.0.add").inputs[1], "layer1.0.relu");
  EXPECT_EQ(find(layers, "relu2").inputs, std::vector<std::string>{"layer1.0.relu"});
  EXPECT_EQ(find(layers, "add1").inputs,
            (std::vector<std::string>{"layer2.1.relu", "relu2", "relu1"}));
}

TEST(Blocks, KnowTheChannelsOfAConcat) {
  // 4 and 4 and 4: no convolution on the shortcut of a block of 12 channels.
  const std::string joined =
      "{type = \"conv2d\", channels = 4, kernel = 3, name = \"stem\"},\n"
      "  {type = \"relu\"},\n"
      "  {type = \"concat\", inputs = [\"stem\", \"relu1\", \"stem\"]},\n";
  const auto block = [&](int channels) {
    return names_of(layers_of(joined + "  {type = \"basic_block\", name = \"body\", channels = " +
                              std::to_string(channels) + "}"));
  };
  const auto shortcut = testing::Contains(testing::HasSubstr("downsample"));
  EXPECT_THAT(block(12), testing::Not(shortcut));
  EXPECT_THAT(block(4), shortcut);
}

TEST(Blocks, HandOnTheStatistics) {
  const std::vector<LayerSpec> layers =
      layers_of("{type = \"bottleneck\", channels = 2, statistics = \"block\"}");
  for (const LayerSpec& layer : layers) {
    if (layer.type != LayerType::batch_norm) continue;
    EXPECT_EQ(layer.statistics, Statistics::block) << layer.name;
  }
}

TEST(Blocks, FreezeAllOfTheirLayers) {
  int num_frozen = 0;
  for (const LayerSpec& layer :
       layers_of("{type = \"bottleneck\", channels = 2, stride = 2, trainable = false}")) {
    const bool has_parameters =
        layer.type == LayerType::conv2d || layer.type == LayerType::batch_norm;
    if (layer.name.find("layer1.") != 0) continue;
    EXPECT_EQ(layer.trainable, !has_parameters) << layer.name;
    num_frozen += layer.trainable ? 0 : 1;
  }
  EXPECT_EQ(num_frozen, 8);
}

TEST(Blocks, GiveAllOfTheirLayersTheirRate) {
  for (const LayerSpec& layer :
       layers_of("{type = \"basic_block\", channels = 2, stride = 2, lr_factor = 0.5}")) {
    const bool has_parameters =
        layer.type == LayerType::conv2d || layer.type == LayerType::batch_norm;
    if (layer.name.find("layer1.") != 0) continue;
    EXPECT_EQ(layer.lr_factor, has_parameters ? 0.5 : 1.0) << layer.name;
  }
}

TEST(Blocks, OfGroupNormalisationKeepTheirNames) {
  int count = 0;
  for (const LayerSpec& layer :
       layers_of("{type = \"basic_block\", channels = 8, stride = 2, groups = 4}")) {
    EXPECT_NE(layer.type, LayerType::batch_norm) << layer.name;
    if (layer.type != LayerType::group_norm) continue;
    EXPECT_EQ(layer.groups, 4) << layer.name;
    EXPECT_THAT((std::vector<std::string>{"layer1.0.bn1", "layer1.0.bn2", "layer1.0.downsample.1"}),
                testing::Contains(layer.name));
    ++count;
  }
  EXPECT_EQ(count, 3);
  EXPECT_EQ(error_of(with_block(
                "{type = \"basic_block\", channels = 8, groups = 4, statistics = \"block\"}")),
            "r.toml:12: network.layers[2]: has both groups and statistics, expected one: group "
            "normalisation takes mean and variance of each sample");
}

TEST(Blocks, AreSetByTheirNameAndTheirLayersByDottedNames) {
  const std::string block = "{type = \"basic_block\", channels = 8}";
  EXPECT_EQ(find(layers_of(block, {"network.layers.layer1.channels=6"}), "layer1.0.conv2").channels,
            6);
  const std::string plain = to_toml(parse_recipe(with_block(block), "r.toml"));
  const Recipe set = parse_recipe(
      plain, "r.toml", std::vector<std::string>{"network.layers.layer1.0.conv1.bias=true"});
  EXPECT_TRUE(find(set.network.layers, "layer1.0.conv1").bias);
  EXPECT_FALSE(find(set.network.layers, "layer1.0.conv2").bias);
}

TEST(Blocks, TheResolvedRecipeHasPlainLayersOnly) {
  const Recipe recipe =
      parse_recipe(with_block("{type = \"bottleneck\", channels = 8, repeat = 2}"), "r.toml");
  const std::string text = to_toml(recipe);
  EXPECT_THAT(text, testing::Not(HasSubstr("bottleneck")));
  const Recipe again = parse_recipe(text, "resolved");
  EXPECT_EQ(again, recipe);
  EXPECT_TRUE(differences(recipe, 32, again, 32).empty());
  const Recipe other =
      parse_recipe(with_block("{type = \"bottleneck\", channels = 9, repeat = 2}"), "r.toml");
  EXPECT_EQ(differences(recipe, 32, other, 32).front().key, "network.layers[2].channels");
}

TEST(Blocks, BadOnesAreRefusedWithLineAndKey) {
  const auto error = [](const std::string& block) { return error_of(with_block(block)); };
  EXPECT_EQ(error("{type = \"basic_block\"}"),
            "r.toml:12: network.layers[2].channels: missing, expected integer from 1 to 1048576");
  EXPECT_EQ(error("{type = \"basic_blok\", channels = 3}").substr(0, 62),
            "r.toml:12: network.layers[2].type: \"basic_blok\" is unknown, ex");
  EXPECT_THAT(error("{type = \"basic_blok\"}"), HasSubstr("did you mean \"basic_block\"?"));
  EXPECT_EQ(error("{type = \"basic_block\", channels = 3, kernel = 3}"),
            "r.toml:12: network.layers[2].kernel: unknown key (known: type, name, input, channels, "
            "stride, repeat, statistics, groups, trainable, lr_factor)");
  EXPECT_EQ(error("{type = \"basic_block\", channels = 3, input = \"relu2\"}"),
            "r.toml:12: network.layers[2].input: \"relu2\" is no layer (did you mean 'relu1'?)");
  EXPECT_EQ(error("{type = \"basic_block\", channels = 3, input = \"fc1\"}"),
            "r.toml:12: network.layers[2].input: \"fc1\" comes later, as network.layers[5] in line "
            "15, expected a layer before its reader");
  EXPECT_EQ(error("{type = \"flatten\"},\n  {type = \"basic_block\", channels = 3}"),
            "r.toml:13: network.layers[3]: reads 'flatten1', whose channels are not known here, "
            "expected a convolution before the block");
  EXPECT_EQ(error("{type = \"basic_block\", channels = 3, repeat = 0}"),
            "r.toml:12: network.layers[2].repeat: 0 is out of range, expected an integer from 1 to "
            "100");
  EXPECT_THAT(
      error("{type = \"basic_block\", channels = 3, name = \"" + std::string(49, 'a') + "\"}"),
      HasSubstr("is too long, expected at most 48 characters"));
}

TEST(Blocks, NamesOfTheirLayersAreTaken) {
  EXPECT_EQ(error_of(with_block("{type = \"relu\", name = \"layer1.0.add\"},\n"
                                "  {type = \"basic_block\", channels = 4}")),
            "r.toml:13: network.layers[3].name: \"layer1.0.add\" is already the name of "
            "network.layers[2], expected a new name");
  EXPECT_EQ(error_of(with_block("{type = \"relu\", name = \"conv1.x\"}")),
            "r.toml:12: network.layers[2].name: \"conv1.x\" lies inside of the layer 'conv1', "
            "expected a name that does not begin with that and a dot");
}

}  // namespace
}  // namespace quern
