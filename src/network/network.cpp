// SPDX-License-Identifier: Apache-2.0
#include "network/network.hpp"

#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "layers/add.hpp"
#include "layers/layout.hpp"
#include "linalg/rounding.hpp"
#include "tensor/operand_tiles.hpp"

namespace quern {

namespace {

using Kokkos::Profiling::ScopedRegion;

Graph with_output_layout(Graph graph, const std::optional<Layout>& layout) {
  if (layout) graph.set_output(graph.convert(graph.output(), *layout));
  return graph;
}

}  // namespace

Network::Network(const NetworkSpec& spec, const NetworkSetup& setup)
    : Network(build_graph(spec, setup.precision), setup) {}

Network::Network(Graph graph, const NetworkSetup& setup)
    : graph_(with_output_layout(std::move(graph), setup.output_layout)),
      fusion_(decide_fusion(graph_, setup.loss_applies_relu)) {
  for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
    const NodeFusion& decision = fusion_.nodes[i];
    if (!graph_.nodes()[i].layer) continue;
    graph_.nodes()[i].layer->set_up({decision.with_relu, decision.with_input_relu,
                                     graph_.table().trained_size(), decision.pool,
                                     graph_.precision(), setup.products});
  }
}

std::int64_t Network::memory_bytes(int max_rows, int in_flight) const {
  return plan_buffers(graph_, fusion_, max_rows).bytes(in_flight);
}

std::vector<ExchangedFloats> Network::exchanged_floats(int rows) const {
  std::vector<ExchangedFloats> floats;
  for (const Node& node : graph_.nodes()) {
    if (!node.layer) continue;
    floats.push_back(node.layer->exchanged_floats(rows));
    if (!graph_.value(node.inputs[0]).wants_gradient) floats.back().summed = 0;
  }
  return floats;
}

void Network::forward(const ExecSpace& exec, const StepContext& step,
                      const Activations& batch) const {
  for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i) {
    const Node& node = graph_.node(i);
    const NodeFusion& decision = fusion_.node(i);
    if (decision.forward_elsewhere || node.kind == NodeKind::reshape) continue;
    const ScopedRegion region(node.region);
    const NodeArrays& arrays = batch.node(i);
    if (node.layer) {
      node.layer->forward(exec, step, arrays.layer);
    } else if (node.kind == NodeKind::add) {
      add(exec, arrays.layer.x, arrays.second, decision.with_relu, arrays.layer.y);
    } else {
      convert_layout(exec, arrays.layer.x, arrays.layer.y);
    }
  }
}

void Network::store_statistics(const ExecSpace& exec, const StepContext& step,
                               const Activations& batch) const {
  for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i) {
    const Node& node = graph_.node(i);
    if (node.layer) node.layer->store_statistics(exec, step, batch.node(i).layer);
  }
}

void Network::backward(const ExecSpace& exec, const StepContext& step, const Activations& batch,
                       const std::function<void(std::int64_t)>& complete_from) const {
  for (int i = static_cast<int>(graph_.nodes().size()); i-- > 0;) {
    const Node& node = graph_.node(i);
    const NodeArrays& arrays = batch.node(i);
    if (!arrays.runs_backward) continue;  // nothing before has parameters
    const bool is_elsewhere = fusion_.node(i).backward_elsewhere;
    const bool computes = node.layer && !is_elsewhere;
    const bool converts = node.kind == NodeKind::convert && !is_elsewhere;
    if (!computes && !converts && arrays.sums.empty()) continue;
    const ScopedRegion region(node.region);
    if (computes) node.layer->backward(exec, step, arrays.layer);
    if (converts) convert_layout(exec, arrays.layer.dy, arrays.layer.dx, Content::gradient);
    for (const NodeArrays::Sum& sum : arrays.sums) add(exec, sum.a, sum.b, false, sum.to);
    if (complete_from && node.first_parameter >= 0) complete_from(node.first_parameter);
  }
}

std::vector<const Layer*> Network::layers() const {
  std::vector<const Layer*> layers;
  for (const Node& node : graph_.nodes()) {
    if (node.layer) layers.push_back(node.layer.get());
  }
  return layers;
}

bool Network::layers_update_parameters() const {
  return std::ranges::any_of(graph_.nodes(), [](const Node& node) {
    return node.layer && node.layer->traits().updates_parameters;
  });
}

std::vector<std::pair<std::int64_t, std::int64_t>> Network::left_to_optimizer() const {
  std::vector<std::pair<std::int64_t, std::int64_t>> left;
  std::int64_t end = graph_.table().trained_size();
  for (int i = static_cast<int>(graph_.nodes().size()); i-- > 0;) {
    const Node& node = graph_.node(i);
    if (node.first_parameter < 0) continue;
    if (!node.layer->traits().updates_parameters) left.emplace_back(node.first_parameter, end);
    end = node.first_parameter;
  }
  return left;
}

std::int64_t Network::forward_macs() const {
  std::int64_t total = 0;
  for (const Node& node : graph_.nodes()) total += node.full_macs;
  return total;
}

std::int64_t Network::training_macs() const {
  std::int64_t total = 0;
  for (const Node& node : graph_.nodes()) {
    total += (graph_.value(node.inputs[0]).wants_gradient ? 3 : 2) * node.full_macs;
  }
  return total;
}

bool Network::lies_under_a_sum(int n) const {
  int value = graph_.node(n).output;
  while (graph_.value(value).consumers.size() == 1) {
    const int reader = graph_.value(value).consumers[0];
    const Node& node = graph_.node(reader);
    if (node.kind == NodeKind::add) {
      const int overwritten = fusion_.node(reader).overwritten;
      return overwritten >= 0 && node.inputs[static_cast<std::size_t>(overwritten)] == value;
    }
    if (node.kind != NodeKind::reshape) break;
    value = node.output;
  }
  return false;
}

std::string Network::first_non_finite_layer(const StepContext& step,
                                            const Activations& batch) const {
  const auto samples = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), step.sample_of_row);
  for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i) {
    const Node& node = graph_.node(i);
    if (!node.layer && node.kind != NodeKind::add) continue;
    if (lies_under_a_sum(i)) continue;
    const Activation& y = batch.node(i).layer.y;
    const auto values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y.data);
    const auto value_at = [&, at = ActivationIndex(y)](int row, int unit) {
      if (y.layout != Layout::tiles) return values(at(row, unit));
      const auto* bits = reinterpret_cast<const OperandTiles::Bf16*>(values.data());
      return from_bfloat16(bits[OperandTiles(y).place(row, unit)]);
    };
    for (int row = 0; row < y.rows; ++row) {
      if (samples(row) < 0) continue;
      for (int unit = 0; unit < y.shape.units(); ++unit) {
        if (!Kokkos::isfinite(value_at(row, unit))) return node.name;
      }
    }
  }
  return "";
}

}  // namespace quern
