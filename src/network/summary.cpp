// SPDX-License-Identifier: Apache-2.0
#include "network/summary.hpp"

#include <map>
#include <numeric>
#include <utility>

#include "network/buffer_plan.hpp"
#include "network/build_layer.hpp"
#include "network/network.hpp"

namespace quern {

namespace {

/// What a sample adds to the memory of a batch; buffers have some in reserve besides.
class SampleMemory {
 public:
  explicit SampleMemory(const Network& network)
      : few_(plan_buffers(network.graph(), network.fusion(), kRows)),
        many_(plan_buffers(network.graph(), network.fusion(), 2 * kRows)) {}

  std::size_t buffer_of(int value) const {
    return static_cast<std::size_t>(few_.buffer_of_value[static_cast<std::size_t>(value)]);
  }
  std::size_t num_buffers() const { return few_.value_floats.size(); }
  std::int64_t bytes_of_buffer(std::size_t buffer) const {
    return bytes(many_.value_floats[buffer] - few_.value_floats[buffer]);
  }
  std::int64_t segment_bytes() const { return bytes(many_.segment_floats - few_.segment_floats); }
  std::int64_t gradient_bytes() const {
    return bytes(sum_of(many_.gradient_floats) - sum_of(few_.gradient_floats));
  }

 private:
  static constexpr int kRows = kLanes;  // of whole lane groups, as in every layout

  static std::int64_t bytes(std::int64_t floats) {
    return floats / kRows * std::int64_t{sizeof(float)};
  }
  static std::int64_t sum_of(const std::vector<std::int64_t>& floats) {
    return std::accumulate(floats.begin(), floats.end(), std::int64_t{0});
  }

  BufferPlan few_;
  BufferPlan many_;
};

/// Fills in what a layer computes on inputs of these shapes.
void describe_work(const LayerSpec& spec, int index, const std::vector<Shape>& inputs,
                   LayerSummary& layer) {
  layer.output = inputs[0];
  if (spec.type == LayerType::add) return;
  if (spec.type == LayerType::concat) {
    for (std::size_t i = 1; i < inputs.size(); ++i) layer.output.channels += inputs[i].channels;
    return;
  }
  if (spec.type == LayerType::flatten) {
    layer.output = Shape{inputs[0].units()};
    return;
  }
  const std::unique_ptr<Layer> built = build_layer(spec, inputs[0], index);
  ParameterTable table;
  built->add_parameters(table);
  layer.output = built->output_shape();
  layer.parameters = table.num_parameters();
  layer.is_frozen = layer.parameters > 0 && table.num_trained() == 0;
  layer.macs = built->macs();
}

std::vector<LayerSummary> describe_layers(const NetworkSpec& spec) {
  std::map<std::string, Shape> shapes = {{"input", spec.input}};
  Shape before = spec.input;
  std::vector<LayerSummary> layers;
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const LayerSpec& from = spec.layers[i];
    LayerSummary& layer = layers.emplace_back();
    layer.name = from.name;
    layer.type = to_string(from.type);
    std::vector<Shape> inputs;
    for (const std::string& name : from.inputs) inputs.push_back(shapes[name]);
    if (inputs.empty()) inputs.push_back(before);
    const std::string last = i > 0 ? spec.layers[i - 1].name : "input";
    if (from.inputs != std::vector<std::string>{last}) layer.inputs = from.inputs;
    describe_work(from, static_cast<int>(i), inputs, layer);
    before = shapes[layer.name] = layer.output;
  }
  return layers;
}

/// Hands the memory of every value to the layer that puts it out, or that it is converted for.
void add_memory(const Network& network, NetworkSummary& summary) {
  const Graph& graph = network.graph();
  const SampleMemory memory(network);
  std::map<std::string, LayerSummary*> layer_of;
  for (LayerSummary& layer : summary.layers) layer_of[layer.name] = &layer;
  std::vector<bool> is_counted(memory.num_buffers(), false);
  const auto bytes_of = [&](int value) {
    const std::size_t buffer = memory.buffer_of(value);
    if (is_counted[buffer]) return std::int64_t{0};
    is_counted[buffer] = true;
    summary.activation_bytes += memory.bytes_of_buffer(buffer);
    return memory.bytes_of_buffer(buffer);
  };
  summary.input_bytes = bytes_of(Graph::kBatch);
  std::int64_t converted = 0;
  for (const Node& node : graph.nodes()) {
    const std::int64_t bytes = bytes_of(node.output);
    const auto layer = layer_of.find(node.name);
    if (node.kind == NodeKind::convert || layer == layer_of.end()) {
      converted += bytes;
    } else {
      layer->second->bytes += bytes + std::exchange(converted, 0);
    }
  }
  if (!summary.layers.empty()) summary.layers.back().bytes += converted;  // for the loss
  summary.segment_bytes = memory.segment_bytes();
  summary.activation_bytes += summary.segment_bytes;
  summary.gradient_bytes = memory.gradient_bytes();
}

}  // namespace

NetworkSummary summarize(const NetworkSpec& spec, const Network& network) {
  NetworkSummary summary;
  summary.input = spec.input;
  summary.layers = describe_layers(spec);
  add_memory(network, summary);
  for (const LayerSummary& layer : summary.layers) {
    summary.parameters += layer.parameters;
    summary.macs += layer.macs;
  }
  return summary;
}

}  // namespace quern
