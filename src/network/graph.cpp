// SPDX-License-Identifier: Apache-2.0
#include "network/graph.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace quern {

Graph::Graph(const GraphInput& input)
    : values_{Value{input.shape, input.layout, -1, {}, input.wants_gradient}},
      table_(input.first_tensor) {}

int Graph::append(Node node, Value output) {
  const int number = static_cast<int>(nodes_.size());
  output.producer = number;
  output.wants_gradient = node.first_parameter >= 0;
  for (const int input : node.inputs) {
    Value& value = values_[static_cast<std::size_t>(input)];
    value.consumers.push_back(number);
    output.wants_gradient = output.wants_gradient || value.wants_gradient;
  }
  node.output = static_cast<int>(values_.size());
  node.region = region_of_layer(node.name);
  nodes_.push_back(std::move(node));
  values_.push_back(std::move(output));
  return nodes_.back().output;
}

int Graph::add_layer(std::unique_ptr<Layer> layer, int value, std::int64_t full_macs,
                     float lr_factor) {
  const Layout layout = layer->input_layout(this->value(value).layout);
  const int input = convert(value, layout);
  Node node;
  node.name = layer->name();
  node.inputs = {input};
  node.full_macs = full_macs;
  const std::int64_t begin = table_.trained_size();
  const std::size_t first_entry = table_.entries().size();
  layer->add_parameters(table_);
  table_.set_lr_factor(first_entry, lr_factor);
  if (table_.trained_size() > begin) node.first_parameter = begin;
  Value output{layer->output_shape(), layer->output_layout(layout), -1, {}, false};
  node.layer = std::move(layer);
  return append(std::move(node), std::move(output));
}

int Graph::add_reshape(const std::string& name, int value, const Shape& shape) {
  const bool is_lanes = this->value(value).layout == Layout::nchw16n;
  const int input = is_lanes ? convert(value, flat_layout()) : value;
  Node node;
  node.kind = NodeKind::reshape;
  node.name = name;
  node.inputs = {input};
  return append(std::move(node), {shape, this->value(input).layout, -1, {}, false});
}

int Graph::add_sum(const std::string& name, int a, int b) {
  expect(value(a).shape == value(b).shape, "values of one shape");
  Node node;
  node.kind = NodeKind::add;
  node.name = name;
  node.inputs = {a, convert(b, value(a).layout)};
  return append(std::move(node), {value(a).shape, value(a).layout, -1, {}, false});
}

int Graph::add_concat(const std::string& name, const std::vector<int>& values) {
  Shape shape = value(values[0]).shape;
  shape.channels = 0;
  for (const int v : values) {
    const Shape& part = value(v).shape;
    expect(part.height == shape.height && part.width == shape.width, "images of one size");
    shape.channels += part.channels;
  }
  const Layout layout = shape.is_flat() ? value(values[0]).layout : Layout::nchw16n;
  Node node;
  node.kind = NodeKind::concat;
  node.name = name;
  for (const int v : values) node.inputs.push_back(convert(v, layout));
  return append(std::move(node), {shape, layout, -1, {}, false});
}

int Graph::convert(int value, Layout to) {
  if (to == Layout::tiles && this->value(value).layout != to) value = convert(value, flat_layout());
  const Value& from = this->value(value);
  if (from.layout == to) return value;
  const auto computes = [](const Node& node) { return node.kind != NodeKind::reshape; };
  // What comes out of another stage is in the layout that it has there.
  const bool is_batch = !from.wants_gradient;
  if (is_batch && to != Layout::tiles && std::ranges::none_of(nodes_, computes)) {
    // In front of the first layer the batch itself is gathered in this layout. Not rounded: others
    // may want it as it is.
    for (Value& batch : values_) batch.layout = to;
    return value;
  }
  // Gradients are added in float: readers whose gradients are in tiles have a conversion each.
  const bool is_shared = to != Layout::tiles || !from.wants_gradient;
  for (const int consumer : from.consumers) {
    const Node& node = this->node(consumer);
    if (is_shared && node.kind == NodeKind::convert && this->value(node.output).layout == to)
      return node.output;
  }
  Node node;
  node.kind = NodeKind::convert;
  node.name = "layout";
  node.inputs = {value};
  return append(std::move(node), {from.shape, to, -1, {}, false});
}

int Graph::row_multiple() const {
  const auto has_groups = [](const Value& value) {
    return value.layout == Layout::nchw16n || value.layout == Layout::tiles;
  };
  return std::ranges::any_of(values_, has_groups) ? kLanes : 1;
}

int Graph::unshaped(int value) const {
  while (this->value(value).producer >= 0) {
    const Node& node = this->node(this->value(value).producer);
    if (node.kind != NodeKind::reshape) break;
    value = node.inputs[0];
  }
  return value;
}

}  // namespace quern
