// SPDX-License-Identifier: Apache-2.0
#include "network/build_graph.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "base/error.hpp"
#include "layers/dropout.hpp"
#include "network/build_layer.hpp"

namespace quern {

namespace {

constexpr std::size_t kMaxLayers = DropoutCounter::kMaxLayers;
constexpr std::int64_t kMaxTensor = std::numeric_limits<int>::max();
constexpr int kBatch = -1;  // in the place of a layer's number

[[noreturn]] void refuse(const LayerSpec& spec, const std::string& why) {
  throw InputError("network.layers: " + describe(spec) + " " + why);
}

void check_sizes(const NetworkSpec& spec) {
  if (spec.layers.size() > kMaxLayers) {
    throw InputError("network.layers: " + std::to_string(spec.layers.size()) +
                     " layers, expected at most " + std::to_string(kMaxLayers));
  }
  if (spec.input.is_too_large()) {
    throw InputError("network.input is " + to_string(spec.input) + ", expected at most " +
                     std::to_string(kMaxUnits) + " values");
  }
}

void check_tensors(const ParameterTable& table) {
  if (table.entries().empty()) {
    throw InputError(
        "network.layers: nothing to train (expected a layer with parameters, such as linear or "
        "conv2d)");
  }
  for (const ParameterEntry& entry : table.entries()) {
    if (entry.count <= kMaxTensor) continue;
    throw InputError("network.layers: '" + entry.name + "' has " + std::to_string(entry.count) +
                     " parameters, expected at most " + std::to_string(kMaxTensor) +
                     " in one tensor");
  }
}

/// The layers of a network, by number, with what they read.
class Layers {
 public:
  explicit Layers(const NetworkSpec& spec) : spec_(spec) {
    for (int i = 0; i < count(); ++i) number_.emplace(at(i).name, i);
    for (int i = 0; i < count(); ++i) inputs_.push_back(inputs_of(i));
    check_readers();
  }

  int count() const { return static_cast<int>(spec_.layers.size()); }
  const LayerSpec& at(int i) const { return spec_.layers[static_cast<std::size_t>(i)]; }
  const std::vector<int>& inputs(int i) const { return inputs_[static_cast<std::size_t>(i)]; }
  const Shape& batch() const { return spec_.input; }
  std::string name(int i) const { return i == kBatch ? "input" : at(i).name; }

 private:
  std::vector<int> inputs_of(int i) const {
    const LayerSpec& layer = at(i);
    const bool adds = layer.type == LayerType::add;
    if (layer.inputs.empty() && !adds) return {i - 1};
    if (adds ? layer.inputs.size() < 2 : layer.inputs.size() > 1) {
      refuse(layer, "reads " + std::to_string(layer.inputs.size()) + " inputs, expected " +
                        (adds ? "at least two" : "one; an add layer takes several"));
    }
    std::vector<int> inputs;
    for (const std::string& name : layer.inputs) inputs.push_back(find(i, name));
    return inputs;
  }

  int find(int reader, const std::string& name) const {
    const auto found = number_.find(name);
    if (found == number_.end()) {
      if (name == "input") return kBatch;
      refuse(at(reader),
             "reads '" + name + "', which is no layer (expected 'input' or a layer before it)");
    }
    if (found->second < reader) return found->second;
    if (found->second == reader) refuse(at(reader), "reads itself (expected a layer before it)");
    refuse(at(reader), "reads " + describe(at(found->second)) +
                           ", which comes later (expected a layer before it)");
  }

  void check_readers() const {
    std::vector<bool> is_read(spec_.layers.size(), false);
    for (const std::vector<int>& inputs : inputs_)
      for (const int input : inputs)
        if (input != kBatch) is_read[static_cast<std::size_t>(input)] = true;
    for (int i = 0; i + 1 < count(); ++i) {
      if (is_read[static_cast<std::size_t>(i)]) continue;
      refuse(at(i),
             "puts out what no later layer reads (expected a reader; the output of the "
             "network is that of its last layer)");
    }
  }

  const NetworkSpec& spec_;
  std::map<std::string, int> number_;
  std::vector<std::vector<int>> inputs_;
};

/// What a layer comes to, once the shape of its input is known.
struct Built {
  std::unique_ptr<Layer> layer;  // null for flatten and add
  Shape output;
};

Built build(const Layers& layers, int i, const std::vector<Shape>& inputs,
            OperandPrecision precision) {
  const LayerSpec& spec = layers.at(i);
  if (spec.type == LayerType::flatten) return {nullptr, Shape{inputs[0].units()}};
  if (spec.type == LayerType::add) {
    for (std::size_t k = 1; k < inputs.size(); ++k) {
      if (inputs[k] == inputs[0]) continue;
      refuse(spec, "adds '" + layers.name(layers.inputs(i)[0]) + "' of shape " +
                       to_string(inputs[0]) + " and '" + layers.name(layers.inputs(i)[k]) +
                       "' of shape " + to_string(inputs[k]) + ", expected equal shapes");
    }
    return {nullptr, inputs[0]};
  }
  std::unique_ptr<Layer> layer = build_layer(spec, inputs[0], i, precision);
  const Shape output = layer->output_shape();
  return {std::move(layer), output};
}

std::vector<Built> build_whole(const Layers& layers, OperandPrecision precision) {
  std::vector<Built> built;
  for (int i = 0; i < layers.count(); ++i) {
    std::vector<Shape> inputs;
    for (const int input : layers.inputs(i)) {
      inputs.push_back(input == kBatch ? layers.batch()
                                       : built[static_cast<std::size_t>(input)].output);
    }
    built.push_back(build(layers, i, inputs, precision));
  }
  return built;
}

/// The part of each layer's output that is read: what any reader needs.
std::vector<Shape> parts_read(const Layers& layers, const std::vector<Built>& built) {
  std::vector<Shape> read(built.size(), Shape{0, 0, 0});
  if (!read.empty()) read.back() = built.back().output;
  for (int i = layers.count(); i-- > 0;) {
    const Built& reader = built[static_cast<std::size_t>(i)];
    for (const int input : layers.inputs(i)) {
      if (input == kBatch) continue;
      const Shape& whole = built[static_cast<std::size_t>(input)].output;
      const Shape part =
          reader.layer ? reader.layer->needed_input(read[static_cast<std::size_t>(i)]) : whole;
      Shape& all = read[static_cast<std::size_t>(input)];
      all = {whole.channels, std::max(all.height, part.height), std::max(all.width, part.width)};
    }
  }
  return read;
}

int append(Graph& graph, const Layers& layers, int i, const std::vector<int>& values,
           const Shape& read, const Built& whole) {
  const LayerSpec& spec = layers.at(i);
  const Shape& input = graph.value(values[0]).shape;
  if (spec.type == LayerType::flatten) {
    return graph.add_reshape(spec.name, values[0], Shape{input.units()});
  }
  if (spec.type == LayerType::add) {
    int sum = values[0];
    for (std::size_t k = 1; k < values.size(); ++k) sum = graph.add_sum(spec.name, sum, values[k]);
    return sum;
  }
  auto layer = spec.type == LayerType::conv2d ? build_part_of_conv2d(spec, input, read)
                                              : build_layer(spec, input, i, graph.precision());
  return graph.add_layer(std::move(layer), values[0], whole.layer->macs());
}

}  // namespace

Graph build_graph(const NetworkSpec& spec, OperandPrecision precision) {
  check_sizes(spec);
  const Layers layers(spec);
  const std::vector<Built> whole = build_whole(layers, precision);
  const std::vector<Shape> read = parts_read(layers, whole);
  Graph graph(spec.input, precision);
  std::vector<int> outputs;
  for (int i = 0; i < layers.count(); ++i) {
    std::vector<int> values;
    for (const int input : layers.inputs(i)) {
      values.push_back(input == kBatch ? Graph::kBatch : outputs[static_cast<std::size_t>(input)]);
    }
    const auto number = static_cast<std::size_t>(i);
    outputs.push_back(append(graph, layers, i, values, read[number], whole[number]));
  }
  const auto computes = [](const Node& node) { return node.kind != NodeKind::reshape; };
  if (std::ranges::none_of(graph.nodes(), computes)) {
    throw InputError("network.layers: no layer that computes anything");
  }
  check_tensors(graph.table());
  graph.set_output(outputs.back());
  return graph;
}

}  // namespace quern
