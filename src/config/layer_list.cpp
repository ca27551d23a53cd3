// SPDX-License-Identifier: Apache-2.0
#include "config/layer_list.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

#include "base/text.hpp"
#include "config/block_keys.hpp"
#include "config/layer_keys.hpp"
#include "config/table_reader.hpp"
#include "config/value_readers.hpp"
#include "spec/words.hpp"

namespace quern {

namespace {

class ListReader {
 public:
  ListReader(const toml::array& array, const ValueContext& context, const Shape& input,
             std::vector<LayerSpec>& layers)
      : array_(array),
        input_(input),
        context_(context),
        names_(layer_names(array)),
        layers_(layers) {}

  void read() {
    for (std::size_t i = 0; i < array_.size(); ++i) {
      is_complete_ = is_complete_ && !names_[i].empty();
      if (!array_[i].is_table()) {
        report_type(array_[i], context_of(i), "a table such as {type = \"relu\"}");
      } else if (is_block(*array_[i].as_table())) {
        read_block(i);
      } else {
        read_layer(i);
      }
    }
    // What was not understood may be what another layer reads.
    if (is_complete_) check_names();
  }

 private:
  static constexpr int kUnknown = -1;  // channels after layers whose shapes are not known here

  static bool is_block(const toml::table& table) {
    const std::string type = table["type"].value_or(std::string());
    for (const auto& [word, value] : block_types())
      if (word == type) return true;
    return false;
  }

  std::string key_of(std::size_t entry) const {
    return context_.key + "[" + std::to_string(entry) + "]";
  }

  ValueContext context_of(std::size_t entry) const {
    return {key_of(entry), place_of(array_[entry]), context_.problems};
  }

  void read_layer(std::size_t entry) {
    const ValueContext context = context_of(entry);
    LayerSpec layer;
    TableReader<LayerSpec> reader(layer_keys(), layer, context.problems, context.key);
    reader.read(*array_[entry].as_table());
    const bool is_pool = layer.type == LayerType::max_pool2d || layer.type == LayerType::avg_pool2d;
    if (is_pool && !reader.place_of_key("stride")) layer.stride = layer.size;
    layer.recipe_line = context.place.line;
    if (layer.name.empty()) layer.name = names_[entry];
    append(layer, entry);
    if (!names_[entry].empty()) enter_name(names_[entry], entry);
  }

  void read_block(std::size_t entry) {
    const ValueContext context = context_of(entry);
    BlockSpec block;
    TableReader<BlockSpec> reader(block_keys(), block, context.problems, context.key);
    reader.read(*array_[entry].as_table());
    block.name = names_[entry];
    if (block.groups > 0 && reader.place_of_key("statistics")) {
      context.fail(
          "has both groups and statistics, expected one: group normalisation takes mean "
          "and variance of each sample");
    }
    const std::string before = layers_.empty() ? "input" : layers_.back().name;
    const std::string input = block.input.empty() ? before : name_of_layer(block.input);
    const int channels = channels_of(input);
    if (channels == kUnknown) {
      context.fail("reads '" + input +
                   "', whose channels are not known here, expected a convolution before the block");
    }
    is_complete_ = is_complete_ && block.channels > 0;
    if (block.channels == 0) return;
    for (LayerSpec& layer : expand(block, input, channels)) {
      layer.recipe_line = context.place.line;
      append(layer, entry);
      enter_name(layer.name, entry);
    }
    enter_name(block.name, entry);
  }

  void append(const LayerSpec& layer, std::size_t entry) {
    const std::string before = layers_.empty() ? "input" : layers_.back().name;
    std::vector<int> in_channels;
    for (const std::string& name : layer.inputs)
      in_channels.push_back(channels_of(name_of_layer(name)));
    if (in_channels.empty()) in_channels.push_back(channels_of(before));
    layers_.push_back(layer);
    entry_of_layer_.push_back(entry);
    channels_.push_back(out_channels(layer, in_channels));
  }

  static int out_channels(const LayerSpec& layer, const std::vector<int>& in_channels) {
    if (layer.type == LayerType::conv2d) return layer.channels;
    if (layer.type == LayerType::linear) return layer.features;
    if (layer.type == LayerType::concat) return sum_of(in_channels);
    const bool keeps = layer.type != LayerType::flatten && layer.type != LayerType::custom;
    return keeps ? in_channels[0] : kUnknown;
  }

  static int sum_of(const std::vector<int>& channels) {
    std::int64_t sum = 0;
    for (const int one : channels) {
      if (one <= 0) return one;
      sum += one;
    }
    // More are refused as soon as their shape is known.
    return static_cast<int>(std::min<std::int64_t>(sum, kMaxUnits));
  }

  /// Of what the layer of this name puts out; 0 where what it depends on has been refused.
  int channels_of(const std::string& name) const {
    const auto found = number_.find(name);
    if (found != number_.end()) return channels_[found->second];
    return name == "input" ? input_.channels : 0;
  }

  /// The name itself, or that of a block's last layer.
  std::string name_of_layer(const std::string& name) const {
    const auto found = number_.find(name);
    return found == number_.end() ? name : layers_[found->second].name;
  }

  void enter_name(const std::string& name, std::size_t entry) {
    const auto [use, is_new] = number_.emplace(name, layers_.size() - 1);
    if (is_new) return;
    context_.problems.add(context_of(entry).place, key_of(entry) + ".name",
                          to_toml_text(printable_start(name)) + " is already the name of " +
                              key_of(entry_of_layer_[use->second]) + ", expected a new name");
  }

  void check_names() {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      check_place(i);
      const bool has_list = reads_several(layers_[i].type);
      const std::string key = key_of(entry_of_layer_[i]) + (has_list ? ".inputs" : ".input");
      for (std::size_t k = 0; k < layers_[i].inputs.size(); ++k) {
        std::string& name = layers_[i].inputs[k];
        if (!is_inside_of_block(i))
          check_input(i, name, has_list ? key + "[" + std::to_string(k) + "]" : key);
        name = name_of_layer(name);
      }
    }
  }

  bool is_inside_of_block(std::size_t layer) const {
    return layer > 0 && entry_of_layer_[layer] == entry_of_layer_[layer - 1];
  }

  /// A checkpoint has a group for every part of a name, and the tensors of a layer in its own.
  void check_place(std::size_t layer) {
    const std::string& name = layers_[layer].name;
    for (std::size_t dot = name.find('.'); dot != std::string::npos;
         dot = name.find('.', dot + 1)) {
      const auto outer = number_.find(name.substr(0, dot));
      if (outer == number_.end() || layers_[outer->second].name != outer->first) continue;
      const std::size_t entry = entry_of_layer_[layer];
      context_.problems.add(context_of(entry).place, key_of(entry) + ".name",
                            to_toml_text(name) + " lies inside of the layer '" + outer->first +
                                "', expected a name that does not begin with that and a dot");
    }
  }

  void check_input(std::size_t reader, const std::string& name, const std::string& key) {
    const auto found = number_.find(name);
    if (found != number_.end() && found->second < reader) return;
    if (found == number_.end() && name == "input") return;
    std::string problem = to_toml_text(name);
    if (found == number_.end()) {
      problem += " is no layer " + suggest_name(name, names_before(reader));
    } else if (found->second == reader) {
      problem += " is this layer itself, expected an earlier one";
    } else {
      const std::size_t entry = entry_of_layer_[found->second];
      const int line = context_of(entry).place.line;
      problem += " comes later, as " + key_of(entry) +
                 (line > 0 ? " in line " + std::to_string(line) : "") +
                 ", expected a layer before its reader";
    }
    const std::size_t entry = entry_of_layer_[reader];
    const toml::table& table = *array_[entry].as_table();
    const toml::node* stated = table.get("input") ? table.get("input") : table.get("inputs");
    const toml::node& node = stated == nullptr ? array_[entry] : *stated;
    context_.problems.add(place_of(node), key, problem);
  }

  std::vector<std::string> names_before(std::size_t reader) const {
    std::vector<std::string> names = {"input"};
    for (std::size_t i = 0; i < reader; ++i) names.push_back(layers_[i].name);
    return names;
  }

  const toml::array& array_;
  const Shape& input_;
  const ValueContext& context_;
  std::vector<std::string> names_;  // of the entries
  std::vector<LayerSpec>& layers_;
  std::vector<std::size_t> entry_of_layer_;
  std::vector<int> channels_;                  // of each layer's output
  std::map<std::string, std::size_t> number_;  // of the layer of a name; a block's is its last
  bool is_complete_ = true;
};

}  // namespace

std::vector<std::string> layer_names(const toml::array& layers) {
  const auto types = words_of<LayerType>();
  std::map<std::string, int> count;
  int num_blocks = 0;
  std::vector<std::string> names;
  for (const toml::node& node : layers) {
    std::string& name = names.emplace_back();
    if (!node.is_table()) continue;
    const auto& table = *node.as_table();
    const std::string type = table["type"].value_or(std::string());
    const int number = ++count[type];
    for (const auto& [type_name, value] : types) {
      if (type_name == type) name = default_layer_name(value, number);
    }
    for (const auto& [type_name, value] : block_types()) {
      if (type_name == type) name = default_block_name(++num_blocks);
    }
    name = table["name"].value_or(name);
  }
  return names;
}

void read_layers(const toml::node& node, const ValueContext& context, const Shape& input,
                 std::vector<LayerSpec>& layers) {
  if (!node.is_array()) return report_type(node, context, "an array of tables, one per layer");
  const toml::array& array = *node.as_array();
  if (array.empty()) return context.fail("is empty, expected at least one layer");
  ListReader(array, context, input, layers).read();
}

std::string write_layers(const std::vector<LayerSpec>& layers) {
  std::string text = "[\n";
  for (const LayerSpec& layer : layers) {
    std::vector<std::string> pairs;
    for (const Key<LayerSpec>& key : layer_keys()) {
      const std::string value = applies(key, layer_keys(), layer) ? key.write(layer) : "";
      if (!value.empty()) pairs.push_back(key.path + " = " + value);
    }
    text += "  {" + join(pairs, ", ") + "},\n";
  }
  return text + "]";
}

}  // namespace quern
