// SPDX-License-Identifier: Apache-2.0
#include "config/block_keys.hpp"

#include "config/layer_keys.hpp"
#include "config/table_keys.hpp"

namespace quern {

namespace {

constexpr int kMaxChannels = 1 << 20;
constexpr int kMaxStride = 4096;
constexpr int kMaxRepeat = 100;
constexpr int kExpansion = 4;  // of a bottleneck
// Room for ".99.downsample.0".
constexpr std::size_t kMaxBlockName = kMaxLayerName - 16;

void read_block_name(const toml::node& node, const ValueContext& context, BlockSpec& block) {
  if (!read_layer_name(node, context, block.name) || block.name.size() <= kMaxBlockName) return;
  context.fail("\"" + block.name + "\" is too long, expected at most " +
               std::to_string(kMaxBlockName) +
               " characters, which the names of its layers begin with");
}

std::vector<Key<BlockSpec>> make_block_keys() {
  using B = BlockSpec;
  std::vector<Key<B>> list;
  TableKeys keys(
      list, "", [](auto& block) -> auto& { return block; });
  keys.choice("type", &B::type, block_types(),
              "Two convolutions of 3 x 3, or 1 x 1, 3 x 3 and 1 x 1 to four times the channels")
      .required();
  keys.string("name", &B::name,
              "Begins the names of its layers: `layer1.0.conv1`. As an input: its last layer")
      .defaults_to("`layer1`, `layer2`, ...")
      .read = read_block_name;
  keys.string("input", &B::input, "Name of the layer whose output it reads")
      .defaults_to("the layer before")
      .read = [](const toml::node& node, const ValueContext& context, B& block) {
    read_layer_name(node, context, block.input);
  };
  keys.integer("channels", &B::channels, from_to(1, kMaxChannels),
               "Channels of the convolutions of 3 x 3")
      .required();
  keys.integer("stride", &B::stride, from_to(1, kMaxStride), "Stride of the first block");
  keys.integer("repeat", &B::repeat, from_to(1, kMaxRepeat), "Blocks, one after the other");
  keys.choice("statistics", &B::statistics,
              {{"global", Statistics::global},
               {"block", Statistics::block},
               {"running", Statistics::running}},
              "Of its batch normalisation, as there");
  keys.integer("groups", &B::groups, from_to(1, kMaxChannels),
               "Group normalisation with so many groups takes the place of batch normalisation")
      .left_out_when_zero()
      .defaults_to("batch normalisation");
  keys.boolean("trainable", &B::trainable,
               "`false`: the parameters of all of its layers stay as they begin");
  keys.number("lr_factor", &B::lr_factor, above_zero(),
              "All of its layers learn at this many times the learning rate");
  return list;
}

/// Appends the layers of one block, named `prefix` and more.
class BlockWriter {
 public:
  BlockWriter(std::vector<LayerSpec>& layers, std::string prefix, const BlockSpec& block)
      : layers_(layers), prefix_(std::move(prefix)), block_(block) {}

  // Each returns the name of the last layer.
  std::string basic_branch(int stride) {
    convolution("conv1", block_.channels, 3, stride);
    normalisation("bn1");
    append(LayerType::relu, "relu1");
    convolution("conv2", block_.channels, 3, 1);
    return normalisation("bn2");
  }
  std::string bottleneck_branch(int stride) {
    convolution("conv1", block_.channels, 1, 1);
    normalisation("bn1");
    append(LayerType::relu, "relu1");
    convolution("conv2", block_.channels, 3, stride);
    normalisation("bn2");
    append(LayerType::relu, "relu2");
    convolution("conv3", kExpansion * block_.channels, 1, 1);
    return normalisation("bn3");
  }
  std::string shortcut(const std::string& input, int channels, int stride) {
    convolution("downsample.0", channels, 1, stride).inputs = {input};
    return normalisation("downsample.1");
  }
  std::string sum(const std::string& branch, const std::string& input) {
    append(LayerType::add, "add").inputs = {branch, input};
    return append(LayerType::relu, "relu").name;
  }

 private:
  LayerSpec& append(LayerType type, const std::string& name) {
    LayerSpec& layer = layers_.emplace_back();
    layer.type = type;
    layer.name = prefix_ + name;
    return layer;
  }
  LayerSpec& convolution(const std::string& name, int channels, int kernel, int stride) {
    LayerSpec& layer = append(LayerType::conv2d, name);
    layer.channels = channels;
    layer.kernel = kernel;
    layer.stride = stride;
    layer.padding = kernel / 2;
    layer.bias = false;
    layer.trainable = block_.trainable;
    layer.lr_factor = block_.lr_factor;
    return layer;
  }
  std::string normalisation(const std::string& name) {
    const bool in_groups = block_.groups > 0;
    LayerSpec& layer = append(in_groups ? LayerType::group_norm : LayerType::batch_norm, name);
    layer.groups = block_.groups;
    layer.statistics = block_.statistics;
    layer.trainable = block_.trainable;
    layer.lr_factor = block_.lr_factor;
    return layer.name;
  }

  std::vector<LayerSpec>& layers_;
  std::string prefix_;
  const BlockSpec& block_;
};

}  // namespace

const std::vector<Key<BlockSpec>>& block_keys() {
  static const std::vector<Key<BlockSpec>> keys = make_block_keys();
  return keys;
}

std::vector<std::pair<std::string, BlockType>> block_types() {
  return {{"basic_block", BlockType::basic_block}, {"bottleneck", BlockType::bottleneck}};
}

std::string default_block_name(int number) {
  return "layer" + std::to_string(number);
}

std::vector<LayerSpec> expand(const BlockSpec& block, const std::string& input, int in_channels) {
  const bool is_bottleneck = block.type == BlockType::bottleneck;
  const int out_channels = block.channels * (is_bottleneck ? kExpansion : 1);
  std::vector<LayerSpec> layers;
  std::string x = input;
  for (int i = 0; i < block.repeat; ++i) {
    const int stride = i == 0 ? block.stride : 1;
    BlockWriter writer(layers, block.name + "." + std::to_string(i) + ".", block);
    const std::string branch =
        is_bottleneck ? writer.bottleneck_branch(stride) : writer.basic_branch(stride);
    if (stride != 1 || in_channels != out_channels) x = writer.shortcut(x, out_channels, stride);
    x = writer.sum(branch, x);
    in_channels = out_channels;
  }
  if (!block.input.empty()) layers.front().inputs = {input};
  return layers;
}

}  // namespace quern
