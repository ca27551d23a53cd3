// SPDX-License-Identifier: Apache-2.0
#include "bench/layer_info.hpp"

#include <algorithm>

#include "network/buffer_plan.hpp"

namespace quern {

std::optional<NamedLayerInfo> layer_of_region(const Network& network, const std::string& region) {
  const Graph& graph = network.graph();
  const auto node = std::ranges::find_if(graph.nodes(), [&](const Node& n) {
    return n.kind != NodeKind::convert && n.region == region;
  });
  if (node == graph.nodes().end()) return std::nullopt;
  NamedLayerInfo named;
  named.name = node->name;
  named.info.input = graph.value(node->inputs[0]).shape;
  named.info.output = graph.value(node->output).shape;
  if (node->kind == NodeKind::concat) named.info.inputs = static_cast<int>(node->inputs.size());
  const auto bytes = [](Layout layout) { return layout == Layout::nchw16n_bf16 ? 2 : 4; };
  named.info.bytes = {bytes(value_layout(graph, network.fusion(), node->inputs[0])),
                      bytes(gradient_layout(graph, network.fusion(), node->inputs[0])),
                      bytes(value_layout(graph, network.fusion(), node->output)),
                      bytes(gradient_layout(graph, network.fusion(), node->output))};
  if (!node->layer) return named;
  named.info.macs = node->layer->macs();
  const auto n = static_cast<std::size_t>(node - graph.nodes().begin());
  if (plan_buffers(graph, network.fusion(), kLanes).runs_again[n]) named.info.forward_passes = 2;
  for (const ParameterEntry& entry : network.table().entries()) {
    if (entry.name.rfind(node->name + ".", 0) == 0) named.info.weights += entry.count;
  }
  return named;
}

}  // namespace quern
