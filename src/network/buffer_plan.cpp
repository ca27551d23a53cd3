// SPDX-License-Identifier: Apache-2.0
#include "network/buffer_plan.hpp"

#include <algorithm>
#include <numeric>

namespace quern {

namespace {

class Planner {
 public:
  Planner(const Graph& graph, const Fusion& fusion, int max_rows)
      : graph_(graph), fusion_(fusion), max_rows_(max_rows) {}

  BufferPlan plan() {
    place_values();
    place_layers();
    place_gradients();
    return std::move(plan_);
  }

 private:
  std::int64_t floats_of(int value) const {
    const Value& v = graph_.value(standing_value(graph_, fusion_, value));
    return allocation_size(v.shape, v.layout, max_rows_);
  }

  void place_values() {
    for (int v = 0; v < static_cast<int>(graph_.values().size()); ++v) {
      const int producer = graph_.value(v).producer;
      const int overwritten = producer < 0 ? -1 : fusion_.node(producer).overwritten;
      if (overwritten >= 0) {
        const int input = graph_.node(producer).inputs[static_cast<std::size_t>(overwritten)];
        plan_.buffer_of_value.push_back(plan_.buffer_of_value[static_cast<std::size_t>(input)]);
      } else {
        plan_.buffer_of_value.push_back(static_cast<int>(plan_.value_floats.size()));
        plan_.value_floats.push_back(floats_of(v));
      }
    }
  }

  void place_layers() {
    for (const Node& node : graph_.nodes()) {
      plan_.own_floats.push_back(node.layer ? node.layer->own_floats(max_rows_) : 0);
      if (!node.layer) continue;
      plan_.workspace_floats =
          std::max(plan_.workspace_floats, node.layer->workspace_floats(max_rows_));
    }
  }

  /// A buffer that nobody uses: the smallest that is large enough, else the largest, which grows.
  int take_buffer(std::int64_t floats) {
    std::vector<std::int64_t>& sizes = plan_.gradient_floats;
    int best = -1;
    for (int i = 0; i < static_cast<int>(sizes.size()); ++i) {
      if (users_[static_cast<std::size_t>(i)] > 0) continue;
      const auto size = [&](int b) { return sizes[static_cast<std::size_t>(b)]; };
      const bool fits = size(i) >= floats;
      if (best < 0 || (size(best) >= floats ? fits && size(i) < size(best) : size(i) > size(best)))
        best = i;
    }
    if (best < 0) {
      best = static_cast<int>(sizes.size());
      sizes.push_back(0);
      users_.push_back(0);
    }
    sizes[static_cast<std::size_t>(best)] = std::max(sizes[static_cast<std::size_t>(best)], floats);
    users_[static_cast<std::size_t>(best)] = 1;
    return best;
  }
  int& users(int buffer) { return users_[static_cast<std::size_t>(buffer)]; }

  void place_gradients() {
    gradient_of_value_.assign(graph_.values().size(), -1);
    plan_.backward.resize(graph_.nodes().size());
    plan_.d_output = take_buffer(floats_of(graph_.output()));
    gradient_of_value_[static_cast<std::size_t>(graph_.output())] = plan_.d_output;
    for (int n = static_cast<int>(graph_.nodes().size()); n-- > 0;) {
      if (graph_.value(graph_.node(n).output).wants_gradient) place_backward(n);
    }
    plan_.d_input = gradient_of_value_[Graph::kBatch];
  }

  void place_backward(int n) {
    const Node& node = graph_.node(n);
    NodeBackward& backward = plan_.backward[static_cast<std::size_t>(n)];
    backward.runs = true;
    backward.dy = gradient_of_value_[static_cast<std::size_t>(node.output)];
    for (const int input : node.inputs) {
      backward.dx.push_back(graph_.value(input).wants_gradient ? place_dx(n, backward.dy, input)
                                                               : -1);
    }
    --users(backward.dy);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (backward.dx[i] >= 0) hand_back(node.inputs[i], backward.dx[i], backward);
    }
  }

  /// The gradient of an input: the buffer of dy where nothing has to be computed, or where it may
  /// be overwritten because nobody else reads it.
  int place_dx(int n, int dy, int input) {
    const Node& node = graph_.node(n);
    const bool is_same = node.kind == NodeKind::reshape || node.kind == NodeKind::add ||
                         fusion_.node(n).backward_elsewhere;
    const LayerTraits traits = node.layer ? node.layer->traits() : LayerTraits{};
    const bool in_place = (traits.in_place || traits.overwrites_gradient) && users(dy) == 1;
    if (!is_same && !in_place) return take_buffer(floats_of(input));
    ++users(dy);
    return dy;
  }

  /// A reader of `value` hands back its part of the gradient.
  void hand_back(int value, int buffer, NodeBackward& backward) {
    int& gradient = gradient_of_value_[static_cast<std::size_t>(value)];
    if (gradient < 0) {
      gradient = buffer;
      return;
    }
    const int a = gradient;
    int to = -1;
    if (a != buffer && users(a) == 1) {
      to = a;
      --users(buffer);
    } else if (a != buffer && users(buffer) == 1) {
      to = buffer;
      --users(a);
    } else {
      to = take_buffer(floats_of(value));
      --users(a);
      --users(buffer);
    }
    backward.sums.push_back({value, a, buffer, to});
    gradient = to;
  }

  const Graph& graph_;
  const Fusion& fusion_;
  int max_rows_;
  BufferPlan plan_;
  std::vector<int> users_;  // of each gradient buffer: who has still to read it
  std::vector<int> gradient_of_value_;
};

}  // namespace

int standing_value(const Graph& graph, const Fusion& fusion, int value) {
  const int producer = graph.value(value).producer;
  const int standing = producer < 0 ? fusion.batch_stands_for : fusion.node(producer).stands_for;
  return standing < 0 ? value : standing;
}

std::int64_t BufferPlan::bytes(int in_flight) const {
  const auto sum = [](const std::vector<std::int64_t>& sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  };
  const std::int64_t each = sum(value_floats) + sum(own_floats);
  return (in_flight * each + sum(gradient_floats) + workspace_floats) * std::int64_t{sizeof(float)};
}

BufferPlan plan_buffers(const Graph& graph, const Fusion& fusion, int max_rows) {
  return Planner(graph, fusion, max_rows).plan();
}

}  // namespace quern
