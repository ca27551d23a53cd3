// SPDX-License-Identifier: Apache-2.0
#include "network/fusion.hpp"

#include <algorithm>

namespace quern {

namespace {

LayerTraits traits_of(const Node& node) {
  return node.layer ? node.layer->traits() : LayerTraits{};
}

/// May somebody else be written where this value lies? Not where the batch does, which may be the
/// target; not where others read it, or a backward pass wants to see it again.
bool may_be_overwritten(const Graph& graph, int value) {
  for (;;) {
    const Value& v = graph.value(value);
    if (v.producer < 0 || v.consumers.size() != 1) return false;
    const Node& producer = graph.node(v.producer);
    if (producer.kind != NodeKind::reshape) return !traits_of(producer).reads_output;
    value = producer.inputs[0];
  }
}

int overwritten_input(const Graph& graph, const Node& node) {
  if (node.kind == NodeKind::reshape) return 0;
  if (node.kind == NodeKind::add) {
    for (int i = 0; i < 2; ++i)
      if (may_be_overwritten(graph, node.inputs[static_cast<std::size_t>(i)])) return i;
    return -1;
  }
  return traits_of(node).in_place && may_be_overwritten(graph, node.inputs[0]) ? 0 : -1;
}

/// Does it round values to operands of products? Whoever reads them sees the same signs.
bool makes_tiles(const Graph& graph, const Node& node) {
  return node.kind == NodeKind::convert && graph.value(node.output).layout == Layout::tiles;
}

/// The nodes that read `value`, itself, reshaped or rounded; the loss is not among them.
void add_readers(const Graph& graph, int value, std::vector<int>& readers) {
  for (const int consumer : graph.value(value).consumers) {
    const Node& node = graph.node(consumer);
    if (node.kind == NodeKind::reshape || makes_tiles(graph, node))
      add_readers(graph, node.output, readers);
    else
      readers.push_back(consumer);
  }
}

void fuse_relu(const Graph& graph, int relu, bool loss_applies_relu, Fusion& fusion) {
  const Node& node = graph.node(relu);
  NodeFusion& decision = fusion.node(relu);
  const int before = graph.value(graph.unshaped(node.inputs[0])).producer;
  const Node& producer = graph.node(before);
  if (producer.kind == NodeKind::add || traits_of(producer).applies_relu) {
    fusion.node(before).with_relu = true;
    decision.forward_elsewhere = true;
  }
  if (traits_of(producer).applies_relu_backward) {
    decision.backward_elsewhere = true;
    return;
  }
  std::vector<int> readers;
  add_readers(graph, node.output, readers);
  if (graph.unshaped(graph.output()) == node.output) {
    if (!readers.empty()) return;  // and the loss
    decision.backward_elsewhere = fusion.relu_left_to_loss = loss_applies_relu;
    return;
  }
  if (readers.empty()) return;  // it goes out as operands, to another stage of the network
  for (const int reader : readers)
    if (!traits_of(graph.node(reader)).applies_input_relu) return;
  for (const int reader : readers) fusion.node(reader).with_input_relu = true;
  decision.backward_elsewhere = true;
}

/// Lets a layer that nobody else reads, and which runs after what is added to it, compute the sum.
void fuse_sum(const Graph& graph, int sum, Fusion& fusion) {
  const Node& node = graph.node(sum);
  for (int i = 0; i < 2; ++i) {
    const int value = node.inputs[static_cast<std::size_t>(i)];
    const Value& other = graph.value(node.inputs[static_cast<std::size_t>(1 - i)]);
    const int producer = graph.value(value).producer;
    if (producer < 0 || !traits_of(graph.node(producer)).applies_add) continue;
    if (!may_be_overwritten(graph, value) || other.producer > producer) continue;
    fusion.node(producer).sum = sum;
    NodeFusion& taken = fusion.node(sum);
    taken.overwritten = i;
    taken.forward_elsewhere = true;
    return;
  }
}

/// Of [convolution, ReLU, pool] where the gradient of the input is not needed: lets the
/// convolution compute all three, and the large image between them is neither written nor read.
void fuse_pool(const Graph& graph, int first, Fusion& fusion) {
  const auto only_reader = [&](int node) {
    const Value& value = graph.value(graph.node(node).output);
    return value.consumers.size() == 1 ? value.consumers[0] : -1;
  };
  const Node& convolution = graph.node(first);
  if (!convolution.layer || graph.value(convolution.inputs[0]).wants_gradient) return;
  const int relu = only_reader(first);
  if (relu < 0 || !fusion.node(relu).forward_elsewhere || !fusion.node(relu).backward_elsewhere)
    return;
  const int pool = only_reader(relu);
  if (pool < 0) return;
  const std::optional<Pool> window = traits_of(graph.node(pool)).pool;
  if (!window || !convolution.layer->can_compute(*window)) return;
  NodeFusion& taken = fusion.node(pool);
  taken.overwritten = 0;
  taken.forward_elsewhere = taken.backward_elsewhere = true;
  fusion.node(first).pool = window;
  for (const int node : {first, relu}) fusion.node(node).stands_for = graph.node(pool).output;
}

/// Where nobody else reads what node `n` rounds to operands: lets the layer whose output it is, or
/// whoever gathers the batch, write operands and nothing else.
void fuse_tiles(const Graph& graph, int n, Fusion& fusion) {
  const int operands = graph.node(n).output;
  std::vector<int> between;
  int value = graph.node(n).inputs[0];
  for (;;) {
    const Value& v = graph.value(value);
    if (v.consumers.size() != 1 || value == graph.output()) return;
    if (v.producer < 0) break;
    between.push_back(v.producer);
    const Node& node = graph.node(v.producer);
    if (traits_of(node).writes_tiles) break;
    const NodeFusion& decision = fusion.node(v.producer);
    const bool is_nothing = decision.forward_elsewhere && decision.backward_elsewhere;
    if (node.kind != NodeKind::reshape && !is_nothing) return;
    value = node.inputs[0];
  }
  NodeFusion& taken = fusion.node(n);
  taken.overwritten = 0;
  taken.forward_elsewhere = taken.backward_elsewhere = true;
  for (const int node : between) fusion.node(node).stands_for = operands;
  if (graph.value(value).producer < 0) fusion.batch_stands_for = operands;
}

/// Lets the loss write the gradient of the output as operands, if a layer that takes it so is the
/// only one who reads it: between them there may be what computes nothing in the backward pass. And
/// lets that layer hand over its output, if there is nothing to compute in the forward pass either.
void fuse_loss_gradient(const Graph& graph, bool loss_reads_tiles, Fusion& fusion) {
  std::vector<int> between;
  int value = graph.output();
  for (;;) {
    const Value& v = graph.value(value);
    if (v.producer < 0 || v.consumers.size() != (between.empty() ? 0u : 1u)) return;
    between.push_back(v.producer);
    const Node& node = graph.node(v.producer);
    if (traits_of(node).writes_tiles) break;
    if (node.kind != NodeKind::reshape && !fusion.node(v.producer).backward_elsewhere) return;
    value = node.inputs[0];
  }
  for (const int node : between) fusion.node(node).loss_gradient_in_tiles = true;
  const int last = between.back();
  between.pop_back();
  const bool is_last = std::ranges::all_of(between, [&](int node) {
    return graph.node(node).kind == NodeKind::reshape || fusion.node(node).forward_elsewhere;
  });
  if (loss_reads_tiles && is_last && traits_of(graph.node(last)).hands_over_output)
    fusion.hands_over_output = last;
}

/// Is y of the node computed by the one before it, and its gradient by the one after it?
bool is_passed_by(const NodeFusion& node) {
  return node.forward_elsewhere && node.backward_elsewhere;
}

/// May the gradient of the output be written where the output lies? Not where others read it, or a
/// backward pass wants to see it again, or the gradient has another layout. If it lies where
/// another value did, nobody reads that any more (may_be_overwritten).
bool may_overwrite_output(const Graph& graph, const Fusion& fusion) {
  for (int value = graph.output();;) {
    const Value& v = graph.value(value);
    if (v.producer < 0 || v.consumers.size() != (value == graph.output() ? 0u : 1u)) return false;
    const Node& producer = graph.node(v.producer);
    const NodeFusion& node = fusion.node(v.producer);
    if (producer.kind != NodeKind::reshape && !is_passed_by(node))
      return !traits_of(producer).reads_output && !node.loss_gradient_in_tiles;
    value = producer.inputs[0];
  }
}

/// Lets node `n` round y where all that the only reader does with it is to round it first.
void fuse_rounded_output(const Graph& graph, int n, Fusion& fusion) {
  if (!traits_of(graph.node(n)).writes_rounded_output || fusion.node(n).pool) return;
  std::vector<int> between = {n};
  for (;;) {
    const int output = graph.node(between.back()).output;
    const Value& value = graph.value(output);
    if (value.consumers.size() != 1 || output == graph.output()) return;
    const int reader = value.consumers[0];
    if (traits_of(graph.node(reader)).reads_rounded_input) {
      if (fusion.node(reader).with_input_relu || fusion.node(reader).pool) return;
      break;
    }
    if (!is_passed_by(fusion.node(reader))) return;
    between.push_back(reader);
  }
  for (const int node : between) fusion.node(node).rounds_output = true;
}

/// And the gradient that it hands back, to whom it is the only one to do so.
void fuse_rounded_gradient(const Graph& graph, int n, Fusion& fusion) {
  if (!traits_of(graph.node(n)).writes_rounded_gradient) return;
  std::vector<int> between;
  for (int value = graph.node(n).inputs[0];;) {
    const Value& v = graph.value(value);
    if (v.producer < 0 || v.consumers.size() != 1) return;
    between.push_back(v.producer);
    const Node& producer = graph.node(v.producer);
    if (traits_of(producer).reads_rounded_gradient) {
      if (fusion.node(v.producer).pool) return;
      break;
    }
    if (!is_passed_by(fusion.node(v.producer))) return;
    value = producer.inputs[0];
  }
  for (const int node : between) fusion.node(node).rounds_gradient = true;
}

}  // namespace

Fusion decide_fusion(const Graph& graph, const LossTraits& loss) {
  Fusion fusion;
  for (const Node& node : graph.nodes()) {
    NodeFusion& decision = fusion.nodes.emplace_back();
    decision.overwritten = overwritten_input(graph, node);
  }
  const int count = static_cast<int>(graph.nodes().size());
  for (int i = 0; i < count; ++i)
    if (graph.node(i).kind == NodeKind::add) fuse_sum(graph, i, fusion);
  for (int i = 0; i < count; ++i) {
    if (!traits_of(graph.node(i)).is_relu || fusion.node(i).overwritten < 0) continue;
    fuse_relu(graph, i, loss.applies_relu, fusion);
  }
  for (int i = 0; i < count; ++i) fuse_pool(graph, i, fusion);
  for (int i = 0; i < count; ++i)
    if (makes_tiles(graph, graph.node(i))) fuse_tiles(graph, i, fusion);
  if (loss.writes_tiles) fuse_loss_gradient(graph, loss.reads_tiles, fusion);
  fusion.loss_overwrites_output = loss.overwrites_output && may_overwrite_output(graph, fusion);
  for (int i = 0; i < count; ++i) {
    fuse_rounded_output(graph, i, fusion);
    fuse_rounded_gradient(graph, i, fusion);
  }
  fusion.segments = {{0, count}};
  return fusion;
}

}  // namespace quern
