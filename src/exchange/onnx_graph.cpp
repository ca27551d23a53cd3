// SPDX-License-Identifier: Apache-2.0
#include "exchange/onnx_graph.hpp"

#include <string_view>

namespace quern {

namespace {

std::string_view bytes_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// TensorProto.DataType
constexpr int kFloat = 1;
constexpr int kInt64 = 7;

ProtobufMessage attribute(const std::string& name, const OnnxAttribute& value) {
  enum Type { real = 1, integer = 2, integers = 7 };  // AttributeProto.AttributeType
  ProtobufMessage message;
  message.add_bytes(1, name);
  if (const auto* number = std::get_if<float>(&value)) {
    message.add_float(2, *number);
    message.add_int(20, real);
  } else if (const auto* count = std::get_if<std::int64_t>(&value)) {
    message.add_int(3, *count);
    message.add_int(20, integer);
  } else {
    for (const std::int64_t each : std::get<std::vector<std::int64_t>>(value))
      message.add_int(8, each);
    message.add_int(20, integers);
  }
  return message;
}

ProtobufMessage tensor(const std::string& name, const std::vector<std::int64_t>& shape, int type,
                       std::string_view bytes) {
  ProtobufMessage message;
  for (const std::int64_t extent : shape) message.add_int(1, extent);
  message.add_int(2, type);
  message.add_bytes(8, name);
  message.add_bytes(9, bytes);
  return message;
}

ProtobufMessage value_info(const std::string& name, const std::vector<std::int64_t>& shape,
                           const std::string& description) {
  ProtobufMessage dimensions;
  ProtobufMessage batch;
  batch.add_bytes(2, "batch");
  dimensions.add_message(1, batch);
  for (const std::int64_t extent : shape) {
    ProtobufMessage dimension;
    dimension.add_int(1, extent);
    dimensions.add_message(1, dimension);
  }
  ProtobufMessage tensor_type;
  tensor_type.add_int(1, kFloat);
  tensor_type.add_message(2, dimensions);
  ProtobufMessage type;
  type.add_message(1, tensor_type);
  ProtobufMessage message;
  message.add_bytes(1, name);
  message.add_message(2, type);
  message.add_bytes(3, description);
  return message;
}

}  // namespace

OnnxGraph::OnnxGraph(const std::string& name) {
  graph_.add_bytes(2, name);
}

void OnnxGraph::add_node(const std::string& type, const std::string& name,
                         const std::vector<std::string>& inputs, const std::string& output,
                         const OnnxAttributes& attributes) {
  ProtobufMessage node;
  for (const std::string& input : inputs) node.add_bytes(1, input);
  node.add_bytes(2, output);
  node.add_bytes(3, name);
  node.add_bytes(4, type);
  for (const auto& [key, value] : attributes) node.add_message(5, attribute(key, value));
  graph_.add_message(1, node);
}

void OnnxGraph::add_initializer(const std::string& name, const std::vector<std::int64_t>& shape,
                                std::span<const float> values) {
  graph_.add_message(5, tensor(name, shape, kFloat, bytes_of(std::as_bytes(values))));
}

void OnnxGraph::add_initializer(const std::string& name, std::span<const std::int64_t> values) {
  graph_.add_message(5, tensor(name, {static_cast<std::int64_t>(values.size())}, kInt64,
                               bytes_of(std::as_bytes(values))));
}

void OnnxGraph::add_input(const std::string& name, const std::vector<std::int64_t>& shape,
                          const std::string& description) {
  graph_.add_message(11, value_info(name, shape, description));
}

void OnnxGraph::add_output(const std::string& name, const std::vector<std::int64_t>& shape,
                           const std::string& description) {
  graph_.add_message(12, value_info(name, shape, description));
}

}  // namespace quern
