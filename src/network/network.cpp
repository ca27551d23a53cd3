// SPDX-License-Identifier: Apache-2.0
#include "network/network.hpp"

#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <algorithm>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "layers/add.hpp"
#include "layers/concat.hpp"
#include "layers/layout.hpp"
#include "linalg/rounding.hpp"
#include "network/segments.hpp"
#include "tensor/kernel_choice.hpp"
#include "tensor/operand_tiles.hpp"

namespace quern {

namespace {

using Kokkos::Profiling::ScopedRegion;

Graph with_output_layout(Graph graph, const std::optional<Layout>& layout) {
  if (layout) graph.set_output(graph.convert(graph.output(), *layout));
  return graph;
}

// A concat: each input to its units of y.
void join(const ExecSpace& exec, const NodeArrays& arrays) {
  concat(exec, arrays.layer.x, arrays.layer.y, 0);
  int first = arrays.layer.x.shape.units();
  for (const Activation& x : arrays.others) {
    concat(exec, x, arrays.layer.y, first);
    first += x.shape.units();
  }
}

// And back: to each input that wants it its part of dy.
void part_gradients(const ExecSpace& exec, const NodeArrays& arrays) {
  const auto part = [&](const Activation& dx, int first) {
    if (!dx.empty()) concat_backward(exec, arrays.layer.dy, first, dx);
  };
  part(arrays.layer.dx, 0);
  int first = arrays.layer.x.shape.units();
  for (std::size_t i = 0; i < arrays.others.size(); ++i) {
    part(arrays.d_others[i], first);
    first += arrays.others[i].shape.units();
  }
}

// Kernels read it without asking.
void check_rows(const StepContext& step, int rows) {
  const auto known = static_cast<std::int64_t>(step.sample_of_row.extent(0));
  if (known >= rows) return;
  throw Error("Network::forward: StepContext::sample_of_row tells of " + std::to_string(known) +
              " rows, expected the " + std::to_string(rows) +
              " of the batch (the number of each row's sample, -1 for an empty row)");
}

}  // namespace

Network::Network(const NetworkSpec& spec, const NetworkSetup& setup)
    : Network(build_graph(spec, setup.kernels), setup) {}

Network::Network(Graph graph, const NetworkSetup& setup)
    : graph_(with_output_layout(std::move(graph), setup.output_layout)),
      fusion_(decide_fusion(graph_, {.applies_relu = setup.loss_applies_relu,
                                     .writes_tiles = setup.loss_writes_tiles,
                                     .overwrites_output = setup.loss_overwrites_output,
                                     .reads_tiles = setup.loss_reads_tiles})) {
  if (setup.recompute) fusion_.segments = cut_into_segments(graph_, fusion_);
  for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
    const NodeFusion& decision = fusion_.nodes[i];
    if (!graph_.nodes()[i].layer) continue;
    const bool with_add = decision.sum >= 0;
    graph_.nodes()[i].layer->set_up(
        {.with_relu = decision.with_relu,
         .with_add = with_add,
         .with_relu_of_sum = with_add && fusion_.node(decision.sum).with_relu,
         .with_input_relu = decision.with_input_relu,
         .hands_over_output = static_cast<int>(i) == fusion_.hands_over_output,
         .first_buffer = graph_.table().trained_size(),
         .first_frozen = graph_.table().reduced_size(),
         .pool = decision.pool,
         .products = setup.products});
  }
}

std::int64_t Network::memory_bytes(const BatchLimit& most, int in_flight) const {
  const BufferPlan plan = plan_buffers(graph_, fusion_, most);
  return plan.bytes(in_flight) +
         kernel_threads() * plan.scratch_floats * std::int64_t{sizeof(float)};
}

bool Network::has_no_kernel(int n) const {
  return fusion_.node(n).forward_elsewhere || graph_.node(n).kind == NodeKind::reshape;
}

void Network::forward_node(const ExecSpace& exec, const StepContext& step, const Activations& batch,
                           int n) const {
  const Node& node = graph_.node(n);
  const NodeArrays& arrays = batch.node(n);
  if (has_no_kernel(n)) return;
  const ScopedRegion region(node.region);
  if (node.layer) {
    node.layer->forward(exec, step, arrays.layer);
  } else if (node.kind == NodeKind::add) {
    add(exec, arrays.layer.x, arrays.others[0], fusion_.node(n).with_relu, arrays.layer.y);
  } else if (node.kind == NodeKind::concat) {
    join(exec, arrays);
  } else {
    convert_layout(exec, arrays.layer.x, arrays.layer.y);
  }
}

void Network::backward_node(const ExecSpace& exec, const StepContext& step,
                            const Activations& batch, int n) const {
  const Node& node = graph_.node(n);
  const NodeArrays& arrays = batch.node(n);
  const bool is_elsewhere = fusion_.node(n).backward_elsewhere || arrays.backward_in_sum;
  const bool computes = node.layer && !is_elsewhere;
  const bool converts = node.kind == NodeKind::convert && !is_elsewhere;
  const bool joins = node.kind == NodeKind::concat;
  if (!computes && !converts && !joins && arrays.sums.empty()) return;
  const ScopedRegion region(node.region);
  if (computes) node.layer->backward(exec, step, arrays.layer);
  if (converts) convert_layout(exec, arrays.layer.dy, arrays.layer.dx, Content::gradient);
  if (joins) part_gradients(exec, arrays);
  for (const NodeArrays::Sum& sum : arrays.sums) {
    if (sum.relu.empty())
      add(exec, sum.a, sum.b, false, sum.to);
    else
      add_relu_gradients(exec, sum.a, sum.b, sum.relu, sum.to);
  }
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
  check_rows(step, batch.input().rows);
  for (int n = 0; n < static_cast<int>(graph_.nodes().size()); ++n)
    forward_node(exec, step, batch, n);
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
  StepContext again = step;
  again.is_again = true;
  for (auto segment = fusion_.segments.rbegin(); segment != fusion_.segments.rend(); ++segment) {
    for (int n = segment->begin; n < segment->end; ++n)
      if (batch.node(n).runs_again) forward_node(exec, again, batch, n);
    for (int n = segment->end; n-- > segment->begin;) {
      if (!batch.node(n).runs_backward) continue;  // nothing before has parameters
      backward_node(exec, step, batch, n);
      const std::int64_t first_parameter = graph_.node(n).first_parameter;
      if (complete_from && first_parameter >= 0) complete_from(first_parameter);
    }
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
    const int passes = 1 + (node.first_parameter >= 0 ? 1 : 0) +
                       (graph_.value(node.inputs[0]).wants_gradient ? 1 : 0);
    total += passes * node.full_macs;
  }
  return total;
}

std::string Network::first_non_finite_layer(const ExecSpace& exec, const StepContext& step,
                                            const Activations& batch,
                                            const std::function<void()>& wait) const {
  const auto samples = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), step.sample_of_row);
  const auto is_finite = [&](const Activation& y) {
    const auto values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y.data);
    const auto value_at = [&, at = ActivationIndex(y)](int row, int unit) {
      const auto* bits = reinterpret_cast<const OperandTiles::Bf16*>(values.data());
      if (y.layout == Layout::tiles) return from_bfloat16(bits[OperandTiles(y).place(row, unit)]);
      if (y.layout == Layout::nchw16n_bf16) return from_bfloat16(bits[at(row, unit)]);
      return values(at(row, unit));
    };
    for (int row = 0; row < y.rows; ++row) {
      if (samples(row) < 0) continue;
      for (int unit = 0; unit < y.shape.units(); ++unit)
        if (!Kokkos::isfinite(value_at(row, unit))) return false;
    }
    return true;
  };
  std::string first;
  for (int n = 0; n < static_cast<int>(graph_.nodes().size()); ++n) {
    forward_node(exec, step, batch, n);  // to the end: other ranks may wait for its sums
    if (wait)
      wait();
    else
      exec.fence("quern::network::first_non_finite_layer");
    const NodeKind kind = graph_.node(n).kind;
    const bool is_named = graph_.node(n).layer || kind == NodeKind::add || kind == NodeKind::concat;
    if (first.empty() && is_named && !has_no_kernel(n) && !is_finite(batch.node(n).layer.y))
      first = graph_.node(n).name;
  }
  return first;
}

}  // namespace quern
