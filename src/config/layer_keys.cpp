// SPDX-License-Identifier: Apache-2.0
#include "config/layer_keys.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "config/block_keys.hpp"
#include "config/document.hpp"
#include "config/table_keys.hpp"
#include "spec/words.hpp"

namespace quern {

namespace {

constexpr int kMaxFeatures = 1 << 24;
constexpr int kMaxWindow = 4096;

/// Names become groups in checkpoints and parts of --set paths.
bool is_layer_name(const std::string& name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !name.empty() && name.size() <= kMaxLayerName && (is_letter(name[0]) || name[0] == '_') &&
         name.back() != '.' && name.find("..") == std::string::npos &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
         });
}

void read_name(const toml::node& node, const ValueContext& context, LayerSpec& layer) {
  read_layer_name(node, context, layer.name);
}

void read_input(const toml::node& node, const ValueContext& context, LayerSpec& layer) {
  std::string name;
  if (read_layer_name(node, context, name)) layer.inputs = {name};
}

void read_names(const toml::node& node, const ValueContext& context, LayerSpec& layer) {
  read_layer_names(node, context, layer.inputs);
}

std::vector<Key<LayerSpec>> make_layer_keys() {
  using L = LayerSpec;
  std::vector<Key<L>> list;
  TableKeys keys(
      list, "", [](auto& layer) -> auto& { return layer; });
  const auto types = words_of<LayerType>();
  Key<L>& type_key = keys.choice("type", &L::type, types,
                                 "What the layer computes; blocks have keys of their own, below");
  type_key.required();
  std::vector<std::string> words;
  for (const auto& [word, value] : types) words.push_back(word);
  for (const auto& [word, value] : block_types()) words.push_back(word);
  type_key.expected = list_choices(words);
  type_key.read = [words, types](const toml::node& node, const ValueContext& context, L& layer) {
    std::size_t index = 0;  // not of a block, whose keys are others
    if (read_choice(node, context, words, index)) layer.type = types[index].second;
  };
  keys.string("name", &L::name,
              "Name in checkpoints and messages, unique in the network: a letter, then letters, "
              "digits, `_`, `-`, "
              "in parts between dots")
      .defaults_to("`fc1`, `conv1`, `bn1`, `relu1`, ... counted per type")
      .read = read_name;
  std::vector<std::string> with_one_input;
  std::vector<std::string> with_several;
  for (const auto& [name, type] : types)
    (reads_several(type) ? with_several : with_one_input).push_back(name);
  Key<L>& input = keys.add("input", "string", "Name of the layer whose output it reads");
  input.only_with("type", with_one_input).defaults_to("the layer before");
  input.read = read_input;
  input.write = [](const L& layer) {
    return layer.inputs.empty() ? std::string() : to_toml_text(layer.inputs[0]);
  };
  Key<L>& inputs = keys.add(
      "inputs", "array of strings",
      "Names of the layers, two or more, whose outputs are added, or of which the channels "
      "follow one another in this order; `\"input\"` is what the network reads");
  inputs.only_with("type", with_several).required();
  inputs.read = read_names;
  inputs.write = [](const L& layer) { return layer_names_text(layer.inputs); };
  keys.integer("features", &L::features, from_to(1, kMaxFeatures), "Output features")
      .only_with("type", {"linear"})
      .required();
  keys.integer("channels", &L::channels, from_to(1, kMaxFeatures), "Output channels")
      .only_with("type", {"conv2d"})
      .required();
  keys.integer("kernel", &L::kernel, from_to(1, kMaxWindow), "Height and width of the kernel")
      .only_with("type", {"conv2d"})
      .required();
  keys.integer("size", &L::size, from_to(1, kMaxWindow), "Height and width of the window")
      .only_with("type", {"max_pool2d", "avg_pool2d"})
      .required();
  keys.integer(
          "groups", &L::groups, from_to(1, kMaxFeatures),
          "Equal sets of neighbouring channels, each of which is normalised by itself; as many "
          "as channels: instance normalisation")
      .only_with("type", {"group_norm"})
      .required();
  keys.integer("stride", &L::stride, from_to(1, kMaxWindow), "Pixels from one window to the next")
      .only_with("type", {"conv2d", "max_pool2d", "avg_pool2d"})
      .defaults_to("`1`; pools: `size`");
  keys.integer("padding", &L::padding, from_to(0, kMaxWindow),
               "Zeros added on every side; pools: at most half of `size`, and never a maximum")
      .only_with("type", {"conv2d", "max_pool2d", "avg_pool2d"});
  Key<L>& bias =
      keys.boolean("bias", &L::bias,
                   "Adds a bias to each output feature or channel; a normalisation after "
                   "it has its own");
  bias.only_with("type", {"linear", "conv2d"}).defaults_to("`true`");
  bias.write = [stated = bias.write](const L& layer) {  // a linear layer has one, unless it says so
    return layer.type == LayerType::linear && layer.bias ? std::string() : stated(layer);
  };
  keys.integer("factor", &L::factor, from_to(2, kMaxWindow),
               "Each pixel becomes a square of this many a side")
      .only_with("type", {"upsample"})
      .required();
  keys.number("p", &L::probability, from_zero_below_one(),
              "Probability that a unit is set to zero while training")
      .only_with("type", {"dropout"})
      .required();
  keys.number("negative_slope", &L::negative_slope, above_zero_to_one(),
              "Factor of what is below zero")
      .only_with("type", {"leaky_relu"});
  keys.number("momentum", &L::momentum, from_to(0, 1),
              "Weight of a batch in the running statistics, which evaluation uses")
      .only_with("type", {"batch_norm"});
  keys.number("eps", &L::eps, above_zero(), "Added to the variance")
      .only_with("type", {"batch_norm", "layer_norm", "group_norm"});
  keys.choice(
          "statistics", &L::statistics,
          {{"global", Statistics::global},
           {"block", Statistics::block},
           {"running", Statistics::running}},
          "Mean and variance while training: of the global batch on all ranks, or of each "
          "micro-block by itself, which needs no communication; or the running statistics, which "
          "then stay as they begin. All give the same bits on any number of ranks, unless "
          "train.determinism is \"fast\"")
      .only_with("type", {"batch_norm"});
  keys.boolean("trainable", &L::trainable,
               "`false`: its parameters stay as they begin; no gradient is computed for them. "
               "Batch normalisation still takes mean and variance of the batch, and its running "
               "statistics are still updated, as in PyTorch with `requires_grad_(False)`, "
               "except with `statistics = \"running\"`")
      .only_with("type", {"linear", "conv2d", "batch_norm", "layer_norm", "group_norm"})
      .left_out_when("true")
      .defaults_to("`true`");
  keys.number("lr_factor", &L::lr_factor, above_zero(),
              "Its parameters learn at this many times the learning rate")
      .only_with("type", {"linear", "conv2d", "batch_norm", "layer_norm", "group_norm", "custom"})
      .left_out_when("1.0")
      .defaults_to("`1.0`");
  keys.string("kind", &L::kind, "Name under which a C++ program has registered the layer")
      .only_with("type", {"custom"})
      .required();
  return list;
}

}  // namespace

bool read_layer_name(const toml::node& node, const ValueContext& context, std::string& name) {
  std::string text;
  if (!read_string(node, context, text)) return false;
  if (is_layer_name(text)) {
    name = text;
    return true;
  }
  context.fail("\"" + printable_start(text) +
               "\" is no layer name, expected a letter, then letters, " +
               "digits, '_' or '-', in parts between dots, at most " +
               std::to_string(kMaxLayerName) + " in all");
  return false;
}

void read_layer_names(const toml::node& node, const ValueContext& context,
                      std::vector<std::string>& names) {
  const toml::array* array = node.as_array();
  if (array == nullptr) return report_type(node, context, "an array of names of layers");
  for (std::size_t i = 0; i < array->size(); ++i) {
    const toml::node& entry = (*array)[i];
    const std::string key = context.key + "[" + std::to_string(i) + "]";
    std::string name;
    if (!read_layer_name(entry, {key, place_of(entry), context.problems}, name)) continue;
    names.push_back(name);
  }
}

std::string layer_names_text(const std::vector<std::string>& names) {
  std::vector<std::string> texts;
  for (const std::string& name : names) texts.push_back(to_toml_text(name));
  return "[" + join(texts, ", ") + "]";
}

const std::vector<Key<LayerSpec>>& layer_keys() {
  static const std::vector<Key<LayerSpec>> keys = make_layer_keys();
  return keys;
}

std::string default_layer_name(LayerType type, int number) {
  std::string stem = to_string(type);
  if (type == LayerType::linear) stem = "fc";
  if (type == LayerType::conv2d) stem = "conv";
  if (type == LayerType::batch_norm) stem = "bn";
  if (type == LayerType::layer_norm) stem = "ln";
  if (type == LayerType::group_norm) stem = "gn";
  return stem + std::to_string(number);
}

}  // namespace quern
