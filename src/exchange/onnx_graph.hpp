// SPDX-License-Identifier: Apache-2.0
// A graph of ONNX: nodes, values with their shapes, initialisers. The numbers of fields are those
// of https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "exchange/protobuf_message.hpp"

namespace quern {

using OnnxAttribute = std::variant<std::int64_t, float, std::vector<std::int64_t>>;
using OnnxAttributes = std::vector<std::pair<std::string, OnnxAttribute>>;

class OnnxGraph {
 public:
  explicit OnnxGraph(const std::string& name);

  /// One output; nodes come after those that they read.
  void add_node(const std::string& type, const std::string& name,
                const std::vector<std::string>& inputs, const std::string& output,
                const OnnxAttributes& attributes = {});

  // Constants, by their names.
  void add_initializer(const std::string& name, const std::vector<std::int64_t>& shape,
                       std::span<const float> values);
  void add_initializer(const std::string& name, std::span<const std::int64_t> values);

  // Floats, for any number of samples: [batch, shape...].
  void add_input(const std::string& name, const std::vector<std::int64_t>& shape,
                 const std::string& description);
  void add_output(const std::string& name, const std::vector<std::int64_t>& shape,
                  const std::string& description);

  /// GraphProto.
  const ProtobufMessage& message() const { return graph_; }

 private:
  ProtobufMessage graph_;
};

}  // namespace quern
