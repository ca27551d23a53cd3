// SPDX-License-Identifier: Apache-2.0
#include "network/build_graph.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "layers/dropout.hpp"
#include "network/build_layer.hpp"
#include "network/layer_list.hpp"

namespace quern {

namespace {

constexpr std::size_t kMaxLayers = DropoutCounter::kMaxLayers;
constexpr std::int64_t kMaxTensor = std::numeric_limits<int>::max();
constexpr int kBatch = LayerList::kBatch;

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
  if (table.trained_size() == 0) {
    throw InputError(
        "network.layers: nothing to train (expected a layer with parameters that does not say "
        "trainable = false)");
  }
  for (const ParameterEntry& entry : table.entries()) {
    if (entry.count <= kMaxTensor) continue;
    throw InputError("network.layers: '" + entry.name + "' has " + std::to_string(entry.count) +
                     " parameters, expected at most " + std::to_string(kMaxTensor) +
                     " in one tensor");
  }
}

/// What a layer comes to, once the shape of its input is known.
struct Built {
  std::unique_ptr<Layer> layer;  // null for flatten, add and concat
  Shape output;
};

/// The inputs of layer `i`, of which the first and number `k` do not fit together.
[[noreturn]] void refuse_pair(const LayerList& layers, int i, const std::vector<Shape>& inputs,
                              std::size_t k, const std::string& verb, const std::string& expected) {
  refuse_layer(layers.at(i), verb + " '" + layers.name(layers.inputs(i)[0]) + "' of shape " +
                                 to_string(inputs[0]) + " and '" +
                                 layers.name(layers.inputs(i)[k]) + "' of shape " +
                                 to_string(inputs[k]) + ", expected " + expected);
}

Shape joined_shape(const LayerList& layers, int i, const std::vector<Shape>& inputs) {
  std::int64_t channels = 0;
  std::int64_t units = 0;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k].height != inputs[0].height || inputs[k].width != inputs[0].width)
      refuse_pair(layers, i, inputs, k, "joins", "equal heights and widths");
    channels += inputs[k].channels;
    units += inputs[k].units();
  }
  if (units > kMaxUnits) {
    refuse_layer(layers.at(i), "puts out " + std::to_string(channels) + " channels of " +
                                   std::to_string(inputs[0].height) + " x " +
                                   std::to_string(inputs[0].width) + ", expected at most " +
                                   std::to_string(kMaxUnits) + " values");
  }
  return {static_cast<int>(channels), inputs[0].height, inputs[0].width};
}

Built build(const LayerList& layers, int i, const std::vector<Shape>& inputs,
            const KernelChoice& choice) {
  const LayerSpec& spec = layers.at(i);
  if (spec.type == LayerType::flatten) return {nullptr, Shape{inputs[0].units()}};
  if (spec.type == LayerType::add) {
    for (std::size_t k = 1; k < inputs.size(); ++k) {
      if (inputs[k] != inputs[0]) refuse_pair(layers, i, inputs, k, "adds", "equal shapes");
    }
    return {nullptr, inputs[0]};
  }
  if (spec.type == LayerType::concat) return {nullptr, joined_shape(layers, i, inputs)};
  std::unique_ptr<Layer> layer = build_layer(spec, inputs[0], i, choice);
  const Shape output = layer->output_shape();
  return {std::move(layer), output};
}

std::vector<Built> build_whole(const LayerList& layers, const KernelChoice& choice) {
  std::vector<Built> built;
  for (int i = 0; i < layers.count(); ++i) {
    std::vector<Shape> inputs;
    for (const int input : layers.inputs(i)) {
      inputs.push_back(input == kBatch ? layers.batch()
                                       : built[static_cast<std::size_t>(input)].output);
    }
    built.push_back(build(layers, i, inputs, choice));
  }
  return built;
}

/// The part of each layer's output that is read: what any reader needs.
std::vector<Shape> parts_read(const LayerList& layers, const std::vector<Built>& built) {
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

/// A batch normalisation of images rounds what it reads only behind a convolution, whose outputs
/// carry errors of that size: its operands are rounded. Deviations of other values, such as the
/// samples', may be small beside their mean.
KernelChoice kernels_of(const LayerList& layers, int i, KernelChoice choice) {
  const int before = layers.inputs(i)[0];
  const bool follows_convolution = before != kBatch && layers.at(before).type == LayerType::conv2d;
  if (layers.at(i).type == LayerType::batch_norm && !follows_convolution)
    choice.precision = OperandPrecision::fp32;
  return choice;
}

int append(Graph& graph, const LayerList& layers, int i, const std::vector<int>& values,
           const Shape& read, const Built& whole, const TensorSlices& slices,
           const KernelChoice& all_layers) {
  const LayerSpec& spec = layers.at(i);
  const KernelChoice choice = kernels_of(layers, i, all_layers);
  const Shape& input = graph.value(values[0]).shape;
  if (spec.type == LayerType::flatten) {
    return graph.add_reshape(spec.name, values[0], Shape{input.units()});
  }
  if (spec.type == LayerType::add) {
    int sum = values[0];
    for (std::size_t k = 1; k < values.size(); ++k) sum = graph.add_sum(spec.name, sum, values[k]);
    return sum;
  }
  if (spec.type == LayerType::concat) return graph.add_concat(spec.name, values);
  auto layer = build_sliced_layer(spec, input, read, slices, choice);
  if (!layer) {
    layer = spec.type == LayerType::conv2d ? build_part_of_conv2d(spec, input, read, choice)
                                           : build_layer(spec, input, i, choice);
  }
  return graph.add_layer(std::move(layer), values[0], whole.layer->macs(),
                         static_cast<float>(spec.lr_factor));
}

/// Layers [part.first, part.last) of which all inputs but one are among them.
class GraphBuilder {
 public:
  GraphBuilder(const NetworkSpec& spec, const KernelChoice& choice, const TensorSlices& slices)
      : layers_(spec), choice_(choice), slices_(slices), whole_(build_whole(layers_, choice)) {
    read_ = parts_read(layers_, whole_);
  }

  int count() const { return layers_.count(); }

  /// Also counts the tensors and notes the values of the layers' outputs, by number.
  Graph build(const LayerRange& part, const GraphInput& input) {
    Graph graph(input);
    outputs_.clear();
    tensors_.clear();
    owners_.clear();
    for (int i = part.first; i < part.last; ++i) {
      std::vector<int> values;
      for (const int read : layers_.inputs(i)) {
        const int local = read - part.first;
        expect(read == part.first - 1 || local >= 0, "a part that a single value comes into");
        values.push_back(local < 0 ? Graph::kBatch : outputs_[static_cast<std::size_t>(local)]);
      }
      tensors_.push_back(graph.table().num_tensors());
      const auto number = static_cast<std::size_t>(i);
      const std::size_t entered = graph.table().entries().size();
      outputs_.push_back(
          append(graph, layers_, i, values, read_[number], whole_[number], slices_, choice_));
      check_names(graph.table(), entered, i);
    }
    graph.set_output(outputs_.back());
    return graph;
  }

  /// What comes into layer `first` of `whole`, which build() has just made of all layers.
  GraphInput input_of(int first, const Graph& whole) const {
    const auto before = static_cast<std::size_t>(first) - 1;
    const Value& value = whole.value(outputs_[before]);
    return {value.shape, value.layout, value.wants_gradient, tensors_[before + 1]};
  }

 private:
  // Checkpoints hold tensors by their names. `first`: the first entry of layer `i`. The parts of
  // one tensor that a sliced layer enters have its name.
  void check_names(const ParameterTable& table, std::size_t first, int i) {
    for (std::size_t k = first; k < table.entries().size(); ++k) {
      const std::string& name = table.entries()[k].name;
      const auto [owner, is_new] = owners_.emplace(name, i);
      if (is_new || (owner->second == i && slices_.count > 0)) continue;
      const std::string where =
          owner->second == i ? " twice" : ", which " + describe(layers_.at(owner->second)) + " has";
      refuse_layer(layers_.at(i), "enters a parameter '" + name + "'" + where +
                                      " (expected a name of its own for each, such as '" +
                                      layers_.at(i).name + ".weight')");
    }
  }

  LayerList layers_;
  KernelChoice choice_;
  TensorSlices slices_;
  std::vector<Built> whole_;
  std::vector<Shape> read_;
  std::vector<int> outputs_;
  std::vector<int> tensors_;           // in front of each layer
  std::map<std::string, int> owners_;  // the layer that entered each tensor
};

}  // namespace

Graph build_graph(const NetworkSpec& spec, const KernelChoice& choice) {
  check_sizes(spec);
  GraphBuilder builder(spec, choice, {});
  Graph graph = builder.build({0, builder.count()}, {spec.input});
  const auto computes = [](const Node& node) { return node.kind != NodeKind::reshape; };
  if (std::ranges::none_of(graph.nodes(), computes)) {
    throw InputError("network.layers: no layer that computes anything");
  }
  check_tensors(graph.table());
  return graph;
}

Graph build_graph(const NetworkSpec& spec, const KernelChoice& choice, const LayerRange& part,
                  const TensorSlices& slices) {
  GraphBuilder builder(spec, choice, slices);
  expect(0 <= part.first && part.first < part.last && part.last <= builder.count(),
         "some layers of the network");
  const Graph whole = builder.build({0, builder.count()}, {spec.input});
  const GraphInput input =
      part.first == 0 ? GraphInput{spec.input} : builder.input_of(part.first, whole);
  return builder.build(part, input);
}

}  // namespace quern
