// SPDX-License-Identifier: Apache-2.0
#include "config/layer_list.hpp"

#include <map>

#include "config/layer_keys.hpp"
#include "config/table_reader.hpp"
#include "config/value_readers.hpp"

namespace quern {

namespace {

std::string quoted(const std::string& name) {
  return to_toml_text(std::string_view(name));
}

class ListReader {
 public:
  ListReader(const toml::array& array, const ValueContext& context, std::vector<LayerSpec>& layers)
      : array_(array), context_(context), names_(layer_names(array)), layers_(layers) {}

  void read() {
    bool is_every_name_known = true;
    for (std::size_t i = 0; i < array_.size(); ++i) {
      if (array_[i].is_table()) {
        read_layer(i);
      } else {
        report_type(array_[i], context_of(i), "a table such as {type = \"relu\"}");
      }
      is_every_name_known = is_every_name_known && !names_[i].empty();
    }
    // A layer of no known name may be the one that another reads.
    if (is_every_name_known) check_inputs();
  }

 private:
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
    layers_.push_back(layer);
    entry_of_layer_.push_back(entry);
    if (!names_[entry].empty()) enter_name(names_[entry], entry);
  }

  void enter_name(const std::string& name, std::size_t entry) {
    const auto [use, is_new] = number_.emplace(name, layers_.size() - 1);
    if (is_new) return;
    context_.problems.add(context_of(entry).place, key_of(entry) + ".name",
                          quoted(printable(name)) + " is already the name of " +
                              key_of(entry_of_layer_[use->second]) + ", expected a new name");
  }

  void check_inputs() {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const bool has_list = layers_[i].type == LayerType::add;
      const std::string key = key_of(entry_of_layer_[i]) + (has_list ? ".inputs" : ".input");
      for (std::size_t k = 0; k < layers_[i].inputs.size(); ++k) {
        check_input(i, layers_[i].inputs[k], has_list ? key + "[" + std::to_string(k) + "]" : key);
      }
    }
  }

  void check_input(std::size_t reader, const std::string& name, const std::string& key) {
    const auto found = number_.find(name);
    if (found != number_.end() && found->second < reader) return;
    if (found == number_.end() && name == "input") return;
    std::string problem = quoted(name);
    if (found == number_.end()) {
      problem += " is no layer " + suggest_name(name, names_before(reader));
    } else if (found->second == reader) {
      problem += " is this layer itself, expected one that stands before it";
    } else {
      const std::size_t entry = entry_of_layer_[found->second];
      const int line = context_of(entry).place.line;
      problem += " stands later, as " + key_of(entry) +
                 (line > 0 ? " in line " + std::to_string(line) : "") +
                 ", expected a layer that stands before its reader";
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
  const ValueContext& context_;
  std::vector<std::string> names_;  // of the entries
  std::vector<LayerSpec>& layers_;
  std::vector<std::size_t> entry_of_layer_;
  std::map<std::string, std::size_t> number_;  // of the layer of a name
};

}  // namespace

std::vector<std::string> layer_names(const toml::array& layers) {
  const auto types = layer_types();
  std::map<std::string, int> count;
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
    name = table["name"].value_or(name);
  }
  return names;
}

void read_layers(const toml::node& node, const ValueContext& context,
                 std::vector<LayerSpec>& layers) {
  if (!node.is_array()) return report_type(node, context, "an array of tables, one per layer");
  const toml::array& array = *node.as_array();
  if (array.empty()) return context.fail("is empty, expected at least one layer");
  ListReader(array, context, layers).read();
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
