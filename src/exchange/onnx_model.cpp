// SPDX-License-Identifier: Apache-2.0
#include "exchange/onnx_model.hpp"

#include <limits>

#include "base/error.hpp"
#include "checkpoint/train_attributes.hpp"
#include "exchange/onnx_nodes.hpp"

namespace quern {

namespace {

constexpr int kIrVersion = 8;
constexpr int kOpset = 17;

void check_size(const CheckpointState& state) {
  constexpr std::size_t kRest = std::size_t{64} << 20;
  std::size_t bytes = 0;
  for (const NamedTensor& tensor : state.model) bytes += tensor.values.size_bytes();
  if (bytes + kRest <= std::numeric_limits<std::int32_t>::max()) return;
  throw InputError("the model has " + std::to_string(bytes) +
                   " bytes of weights, too many for one ONNX file (expected less than 2 GiB; "
                   "safetensors has no such limit)");
}

std::string input_text(const Recipe& recipe) {
  return recipe.network.input.is_flat() ? "values of a sample; pixels divided by 255"
                                        : "pixels divided by 255, or values as they are, NCHW";
}

std::string output_text(const Recipe& recipe) {
  if (recipe.loss.type == LossType::cross_entropy)
    return "logits: one for each class, before softmax";
  return recipe.loss.type == LossType::binary_cross_entropy ? "probabilities" : "prediction";
}

OnnxGraph graph_of(const Recipe& recipe, const CheckpointState& state) {
  const NetworkSpec& network = recipe.network;
  OnnxGraph graph(recipe.name);
  const OnnxValue input{"input", network.input, !network.input.is_flat()};
  graph.add_input(input.name, input.axes(), input_text(recipe));
  OnnxNodes nodes(graph, input);
  if (recipe.data.normalize.type == NormalizeType::given) nodes.add(recipe.data.normalize);
  for (const LayerSpec& layer : network.layers) nodes.add(layer);
  nodes.flatten_pixel();
  if (recipe.loss.type == LossType::binary_cross_entropy) nodes.add_probabilities();
  if (recipe.data.normalize_targets.type == NormalizeType::given)
    nodes.add_way_back(recipe.data.normalize_targets);
  graph.add_node("Identity", "output", {nodes.last().name}, "output");
  graph.add_output("output", nodes.last().axes(), output_text(recipe));
  for (const NamedTensor& tensor : state.model)
    graph.add_initializer(tensor.name, tensor.shape, tensor.values);
  return graph;
}

void add_metadata(ProtobufMessage& model, const std::string& key, const std::string& value) {
  ProtobufMessage entry;
  entry.add_bytes(1, key);
  entry.add_bytes(2, value);
  model.add_message(14, entry);
}

}  // namespace

std::string onnx_model(const Recipe& recipe, const CheckpointState& state) {
  check_size(state);
  ProtobufMessage opset;
  opset.add_bytes(1, "");
  opset.add_int(2, kOpset);
  ProtobufMessage model;
  model.add_int(1, kIrVersion);
  model.add_bytes(2, "quern");
  model.add_bytes(3, state.origin.version);
  model.add_message(7, graph_of(recipe, state).message());
  model.add_message(8, opset);
  for (const auto& [name, text] : exported_texts(state)) add_metadata(model, name, text);
  return model.bytes();
}

}  // namespace quern
