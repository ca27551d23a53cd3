// SPDX-License-Identifier: Apache-2.0
#include "network/activations.hpp"

#include <string>
#include <utility>

#include "base/assert.hpp"

namespace quern {

namespace {

FloatView floats(const std::string& name, std::int64_t count) {
  if (count == 0) return FloatView();
  return FloatView("quern::network::" + name, static_cast<std::size_t>(count));
}

// The memory of a plan, and views of it.
struct Memory {
  // Allocates gradients and workspace unless they are given.
  Memory(const Graph& of, const Fusion& with, const BatchLimit& most,
         std::vector<FloatView> given_gradients, const FloatView& given_workspace)
      : graph(of),
        fusion(with),
        plan(plan_buffers(of, with, most)),
        gradients(std::move(given_gradients)),
        workspace(given_workspace) {
    values.resize(plan.value_floats.size());
    const FloatView segment = floats("values_of_a_segment", plan.segment_floats);
    for (std::size_t v = 0; v < plan.buffer_of_value.size(); ++v) {
      const auto buffer = static_cast<std::size_t>(plan.buffer_of_value[v]);
      const int producer = graph.value(static_cast<int>(v)).producer;
      if (values[buffer].extent(0) > 0) continue;
      const std::int64_t begin = plan.place_in_segment[buffer];
      if (begin >= 0)
        values[buffer] = Kokkos::subview(segment, std::pair(begin, plan.segment_floats));
      else
        values[buffer] =
            floats(producer < 0 ? "input" : graph.node(producer).name, plan.value_floats[buffer]);
    }
    for (std::size_t g = gradients.size(); g < plan.gradient_floats.size(); ++g) {
      gradients.push_back(floats("gradient_" + std::to_string(g), plan.gradient_floats[g]));
    }
    if (fusion.loss_overwrites_output)
      gradients[static_cast<std::size_t>(plan.d_output)] = value(graph.output()).data;
    if (workspace.extent(0) == 0) workspace = floats("workspace", plan.workspace_floats);
  }

  Activation like(int value) const {
    const Value& v = graph.value(standing_value(graph, fusion, value));
    return {{}, v.shape, value_layout(graph, fusion, value), 0};
  }
  Activation value(int value) const {
    Activation activation = like(value);
    activation.data =
        values[static_cast<std::size_t>(plan.buffer_of_value[static_cast<std::size_t>(value)])];
    return activation;
  }
  Activation gradient(int value, int buffer) const {
    if (buffer < 0) return {};
    Activation activation = like(value);
    activation.layout = gradient_layout(graph, fusion, value);
    activation.data = gradients[static_cast<std::size_t>(buffer)];
    return activation;
  }

  const Graph& graph;
  const Fusion& fusion;
  BufferPlan plan;
  std::vector<FloatView> values;
  std::vector<FloatView> gradients;
  FloatView workspace;
};

NodeArrays make_arrays(const Memory& memory, std::size_t n) {
  const Node& node = memory.graph.nodes()[n];
  const NodeBackward& backward = memory.plan.backward[n];
  NodeArrays arrays;
  arrays.layer.x = memory.value(node.inputs[0]);
  arrays.layer.y = memory.value(node.output);
  for (std::size_t i = 1; i < node.inputs.size(); ++i)
    arrays.others.push_back(memory.value(node.inputs[i]));
  const NodeFusion& fusion = memory.fusion.node(static_cast<int>(n));
  if (fusion.sum >= 0) {
    const std::size_t other = memory.fusion.node(fusion.sum).overwritten == 0 ? 1 : 0;
    arrays.layer.addend = memory.value(memory.graph.node(fusion.sum).inputs[other]);
  }
  arrays.layer.own = floats(node.name + "_own", memory.plan.own_floats[n]);
  arrays.layer.workspace = memory.workspace;
  arrays.runs_backward = backward.runs;
  arrays.backward_in_sum = backward.in_sum;
  arrays.runs_again = memory.plan.runs_again[n];
  if (!backward.runs) return arrays;
  arrays.layer.dy = memory.gradient(node.output, backward.dy);
  arrays.layer.dx = memory.gradient(node.inputs[0], backward.dx[0]);
  if (node.kind == NodeKind::concat)
    for (std::size_t i = 1; i < node.inputs.size(); ++i)
      arrays.d_others.push_back(memory.gradient(node.inputs[i], backward.dx[i]));
  arrays.layer.adds_to_dx = backward.adds_to_dx;
  arrays.layer.with_relu_of_x = backward.with_relu_of_x;
  for (const GradientSum& sum : backward.sums) {
    arrays.sums.push_back({memory.gradient(sum.value, sum.a), memory.gradient(sum.value, sum.b),
                           memory.gradient(sum.value, sum.to), Activation{}});
    if (sum.with_relu) arrays.sums.back().relu = memory.value(sum.value);
  }
  return arrays;
}

}  // namespace

Activations::Activations(const Graph& graph, const Fusion& fusion, const BatchLimit& most,
                         const Activations* beside)
    : most_(most), row_multiple_(graph.row_multiple()) {
  const Memory memory(graph, fusion, most, beside ? beside->gradients_ : std::vector<FloatView>{},
                      beside ? beside->workspace_ : FloatView());
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) nodes_.push_back(make_arrays(memory, n));
  input_ = memory.value(Graph::kBatch);
  input_.shape = graph.value(Graph::kBatch).shape;
  output_ = memory.value(graph.output());
  d_output_ = memory.gradient(graph.output(), memory.plan.d_output);
  d_input_ = memory.gradient(Graph::kBatch, memory.plan.d_input);
  gradients_ = memory.gradients;
  workspace_ = memory.workspace;
}

void Activations::set_rows(int rows, int block_rows) {
  if (block_rows == 0) block_rows = rows;
  expect(rows <= most_.rows && (rows == 0 || block_rows >= most_.block_rows),
         "not more rows or micro-blocks than there is room for");
  expect(block_rows % row_multiple_ == 0, "whole groups of lanes");
  expect(rows == 0 || rows % block_rows == 0, "whole micro-blocks");
  const auto set = [&](Activation& array) {
    array.rows = rows;
    array.block_rows = block_rows;
  };
  for (NodeArrays& node : nodes_) {
    LayerArrays& layer = node.layer;
    for (Activation* array : {&layer.x, &layer.y, &layer.addend, &layer.dy, &layer.dx}) set(*array);
    for (Activation& other : node.others) set(other);
    for (Activation& gradient : node.d_others) set(gradient);
    for (NodeArrays::Sum& sum : node.sums)
      for (Activation* array : {&sum.a, &sum.b, &sum.to, &sum.relu}) set(*array);
  }
  for (Activation* end : {&input_, &output_, &d_output_, &d_input_}) set(*end);
}

}  // namespace quern
