// SPDX-License-Identifier: Apache-2.0
// What a network computes: nodes in the order in which they run, and the values between them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "layers/layer.hpp"

namespace quern {

enum class NodeKind {
  layer,
  convert,  ///< another layout of the same values
  reshape,  ///< another shape of the same units; nothing is computed
  add,      ///< the sum of two values
  concat,   ///< the units of several values, one after the other
};

/// What one node puts out and others read.
struct Value {
  Shape shape;
  Layout layout = Layout::nc;
  int producer = -1;           ///< the node; -1: it is the batch
  std::vector<int> consumers;  ///< nodes in order, one entry for each time it is read
  bool wants_gradient = false;
};

struct Node {
  NodeKind kind = NodeKind::layer;
  std::string name;    ///< the layer's; "layout" for a conversion
  std::string region;  ///< region_of_layer(name), made once
  std::unique_ptr<Layer> layer;
  std::vector<int> inputs;  ///< values
  int output = -1;          ///< value
  std::int64_t full_macs = 0;
  std::int64_t first_parameter = -1;  ///< where the layer's tensors begin; -1: none is trained
};

/// What comes into a graph.
struct GraphInput {
  Shape shape;
  Layout layout = flat_layout();  ///< unless its first layer wants another
  /// It comes out of other layers, which learn by its gradient.
  bool wants_gradient = false;
  int first_tensor = 0;  ///< tensors of the network that stand before this graph's
};

/// Grows node by node, each after those that it reads; a network holds it as a constant.
class Graph {
 public:
  static constexpr int kBatch = 0;  ///< the value that is the batch

  explicit Graph(const GraphInput& input);

  // Each appends a node that reads the given values, after changes of layout where it needs them,
  // and returns the value that it puts out.

  /// `full_macs`: multiply-adds of a sample if all of the layer's outputs were computed.
  /// `lr_factor`: of its parameters.
  int add_layer(std::unique_ptr<Layer> layer, int value, std::int64_t full_macs, float lr_factor);
  /// Gives the units of `value` another shape; out of nchw16n they come in the flat layout.
  int add_reshape(const std::string& name, int value, const Shape& shape);
  /// `a` and `b` have the same shape.
  int add_sum(const std::string& name, int a, int b);
  /// The channels of `values`, two or more, which have one height and width, in this order.
  int add_concat(const std::string& name, const std::vector<int>& values);
  /// `value` in this layout: itself, or an earlier conversion of it, where that serves.
  int convert(int value, Layout to);

  /// What the network puts out.
  void set_output(int value) { output_ = value; }

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Value>& values() const { return values_; }
  const Value& value(int i) const { return values_[static_cast<std::size_t>(i)]; }
  const Node& node(int i) const { return nodes_[static_cast<std::size_t>(i)]; }
  int output() const { return output_; }
  const ParameterTable& table() const { return table_; }
  /// Rows of a micro-block must be a multiple of this: kLanes as soon as a layout has groups of
  /// rows.
  int row_multiple() const;

  /// `value`, or what it is a reshape of.
  int unshaped(int value) const;

 private:
  int append(Node node, Value output);

  std::vector<Node> nodes_;
  std::vector<Value> values_;
  int output_ = kBatch;
  ParameterTable table_;
};

/// The region in which a profiler sees the kernels of a layer, in both directions.
inline std::string region_of_layer(const std::string& name) {
  return "quern::network::" + name;
}

}  // namespace quern
