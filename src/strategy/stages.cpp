// SPDX-License-Identifier: Apache-2.0
#include "strategy/stages.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "network/cut.hpp"

namespace quern {

namespace {

Network before_loss(NetworkSetup setup, const Loss& loss, Graph graph) {
  setup.output_layout = loss.input_layout(graph.value(graph.output()).layout);
  setup.loss_applies_relu = loss.applies_input_relu();
  setup.loss_writes_tiles = loss.writes_gradient_tiles();
  setup.loss_reads_tiles = loss.reads_tiles();
  setup.loss_overwrites_output = loss.overwrites_prediction();
  return {std::move(graph), setup};
}

/// Of whole tensors, whatever part of them is here.
std::int64_t num_parameters(const ParameterTable& table) {
  std::set<int> seen;
  std::int64_t total = 0;
  for (const ParameterEntry& entry : table.entries())
    if (!entry.is_buffer() && seen.insert(entry.number).second) total += entry.whole_count();
  return total;
}

StageInfo info_of(const NetworkSpec& spec, const LayerRange& layers, const Network& network) {
  const Graph& graph = network.graph();
  const Value& input = graph.value(standing_value(graph, network.fusion(), Graph::kBatch));
  return {spec.layers[static_cast<std::size_t>(layers.first)].name,
          spec.layers[static_cast<std::size_t>(layers.last) - 1].name,
          num_parameters(network.table()),
          network.training_macs(),
          input.shape,
          input.layout,
          graph.value(Graph::kBatch).wants_gradient};
}

}  // namespace

StageNetworks build_stages(const Recipe& recipe, const KernelChoice& kernels, const Loss& loss,
                           const StagePlace& place, const TensorSlices& slices) {
  const NetworkSetup setup{.kernels = kernels, .recompute = recipe.train.recompute};
  StageNetworks networks;
  Network whole = before_loss(setup, loss, build_graph(recipe.network, kernels));
  networks.row_multiple = whole.row_multiple();
  if (place.stages == 1 && slices.count == 0) {
    const LayerRange all{0, static_cast<int>(recipe.network.layers.size())};
    networks.stages.push_back(info_of(recipe.network, all, whole));
    networks.own.push_back(std::move(whole));
    return networks;
  }
  networks.whole.push_back(std::move(whole));
  if (slices.count > 0) {
    const LayerRange all{0, static_cast<int>(recipe.network.layers.size())};
    networks.unsplit = build_graph(recipe.network, kernels, all, {slices.count, 1, 0}).table();
  }
  const std::vector<LayerRange> ranges =
      cut_network(recipe.network, place.stages, recipe.parallel.cut);
  // From the last to the first: each is asked in which layout it takes its input.
  for (int stage = place.stages; stage-- > 0;) {
    const LayerRange& layers = ranges[static_cast<std::size_t>(stage)];
    Graph graph = build_graph(recipe.network, kernels, layers, slices);
    NetworkSetup before = setup;
    if (!networks.stages.empty()) before.output_layout = networks.stages.front().input_layout;
    Network network = networks.stages.empty() ? before_loss(setup, loss, std::move(graph))
                                              : Network(std::move(graph), before);
    networks.row_multiple = std::max(networks.row_multiple, network.row_multiple());
    networks.stages.insert(networks.stages.begin(), info_of(recipe.network, layers, network));
    if (stage == place.stage) networks.own.push_back(std::move(network));
  }
  return networks;
}

CrossingFloats crossing_floats(const std::vector<StageInfo>& stages, int stage, int max_rows) {
  const auto into = [&](int s) {
    const StageInfo& info = stages[static_cast<std::size_t>(s)];
    return allocation_size(info.input, info.input_layout, max_rows);
  };
  CrossingFloats floats;
  if (stage > 0) {
    floats.x = into(stage);
    if (stages[static_cast<std::size_t>(stage)].wants_gradient) floats.dx = floats.x;
  }
  if (stage + 1 < static_cast<int>(stages.size())) {
    floats.y = into(stage + 1);
    if (stages[static_cast<std::size_t>(stage) + 1].wants_gradient) floats.dy = floats.y;
  }
  return floats;
}

}  // namespace quern
