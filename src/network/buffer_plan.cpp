// SPDX-License-Identifier: Apache-2.0
#include "network/buffer_plan.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"

namespace quern {

namespace {

std::int64_t allocated_floats(const Graph& graph, const Fusion& fusion, int value, int max_rows) {
  const Value& v = graph.value(standing_value(graph, fusion, value));
  return allocation_size(v.shape, value_layout(graph, fusion, value), max_rows);
}

std::int64_t gradient_floats(const Graph& graph, const Fusion& fusion, int value, int max_rows) {
  const Value& v = graph.value(standing_value(graph, fusion, value));
  return allocation_size(v.shape, gradient_layout(graph, fusion, value), max_rows);
}

class Planner {
 public:
  Planner(const Graph& graph, const Fusion& fusion, const BatchLimit& most)
      : graph_(graph), fusion_(fusion), most_(most) {}

  BufferPlan plan() {
    place_values();
    place_layers();
    place_gradients();
    fuse_relu_with_sums();
    place_forward_again();
    return std::move(plan_);
  }

 private:
  std::int64_t gradient_floats_of(int value) const {
    return gradient_floats(graph_, fusion_, value, most_.rows);
  }

  void place_values() {
    const std::vector<ValueBuffer> buffers = value_buffers(graph_, fusion_, most_.rows);
    plan_.buffer_of_value = buffers_of_values(graph_, fusion_);
    for (const ValueBuffer& buffer : buffers) plan_.value_floats.push_back(buffer.floats);
    plan_.place_in_segment.assign(buffers.size(), -1);
    if (fusion_.segments.size() == 1) return;
    for (const NodeRange& segment : fusion_.segments) share_memory(segment, buffers);
  }

  /// Lets the buffers that only this segment reads and writes lie where those of the others do.
  void share_memory(const NodeRange& segment, const std::vector<ValueBuffer>& buffers) {
    std::int64_t floats = 0;
    for (std::size_t b = 0; b < buffers.size(); ++b) {
      const ValueBuffer& buffer = buffers[b];
      const bool is_inside = buffer.first_producer >= segment.begin &&
                             buffer.first_producer < segment.end &&
                             buffer.last_reader < segment.end;
      if (!is_inside) continue;
      plan_.value_floats[b] = 0;
      plan_.place_in_segment[b] = floats;
      floats += round_up_to_lanes(buffer.floats);
    }
    plan_.segment_floats = std::max(plan_.segment_floats, floats);
  }

  /// Of all segments but the last, whose values are still there. Where a value was kept, what
  /// backward wants of its layer was, too.
  void place_forward_again() {
    plan_.runs_again.assign(graph_.nodes().size(), false);
    for (const NodeRange& segment : fusion_.segments) {
      if (segment.end == fusion_.segments.back().end) break;
      const auto begin = plan_.backward.begin();
      if (std::none_of(begin + segment.begin, begin + segment.end,
                       [](const NodeBackward& backward) { return backward.runs; }))
        continue;
      for (int n = segment.begin; n < segment.end; ++n) {
        const int buffer = plan_.buffer_of_value[static_cast<std::size_t>(graph_.node(n).output)];
        plan_.runs_again[static_cast<std::size_t>(n)] =
            plan_.place_in_segment[static_cast<std::size_t>(buffer)] >= 0;
      }
    }
  }

  void place_layers() {
    for (const Node& node : graph_.nodes()) {
      plan_.own_floats.push_back(node.layer ? node.layer->own_floats(most_) : 0);
      if (!node.layer) continue;
      const std::int64_t workspace = node.layer->workspace_floats(most_);
      const std::int64_t scratch = node.layer->scratch_floats(most_);
      if (std::min({plan_.own_floats.back(), workspace, scratch}) < 0)
        throw InputError("the layer '" + node.layer->name() +
                         "' asks for a negative number of floats, expected at least 0 (an overflow "
                         "in its own_floats, workspace_floats or scratch_floats?)");
      plan_.workspace_floats = std::max(plan_.workspace_floats, workspace);
      plan_.scratch_floats = std::max(plan_.scratch_floats, scratch);
    }
  }

  /// A buffer that nobody uses: the smallest that is large enough, else the largest, which grows.
  int take_buffer(std::int64_t floats) {
    std::vector<std::int64_t>& sizes = plan_.gradient_floats;
    int best = -1;
    for (int i = 0; i < static_cast<int>(sizes.size()); ++i) {
      if (users_[static_cast<std::size_t>(i)] > 0 || i == in_output_) continue;
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
    if (fusion_.loss_overwrites_output)
      plan_.d_output = in_output_ = take_buffer(0);
    else
      plan_.d_output = take_buffer(gradient_floats_of(graph_.output()));
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
    backward.adds_to_dx = adds_to_gradient(node);
    if (backward.adds_to_dx) {
      backward.dx.push_back(gradient_of_value_[static_cast<std::size_t>(node.inputs[0])]);
    } else {
      for (const int input : node.inputs) {
        backward.dx.push_back(graph_.value(input).wants_gradient ? place_dx(n, backward.dy, input)
                                                                 : -1);
      }
    }
    --users(backward.dy);
    if (backward.adds_to_dx) return;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (backward.dx[i] >= 0) hand_back(node.inputs[i], backward.dx[i], backward);
    }
  }

  /// Can the layer add to what other readers of its input have handed back? Nobody else may want
  /// that for itself.
  bool adds_to_gradient(const Node& node) {
    if (!node.layer || !node.layer->traits().adds_to_gradient) return false;
    const int handed_back = gradient_of_value_[static_cast<std::size_t>(node.inputs[0])];
    return handed_back >= 0 && users(handed_back) == 1;
  }

  /// The gradient of an input: the buffer of dy where nothing has to be computed, or where it may
  /// be overwritten because nobody else reads it.
  int place_dx(int n, int dy, int input) {
    const Node& node = graph_.node(n);
    const bool is_same = node.kind == NodeKind::reshape || node.kind == NodeKind::add ||
                         fusion_.node(n).backward_elsewhere;
    const LayerTraits traits = node.layer ? node.layer->traits() : LayerTraits{};
    const bool in_place =
        (traits.in_place || traits.overwrites_gradient) && users(dy) == 1 &&
        gradient_layout(graph_, fusion_, input) == gradient_layout(graph_, fusion_, node.output);
    if (!is_same && !in_place) return take_buffer(gradient_floats_of(input));
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
      to = take_buffer(gradient_floats_of(value));
      --users(a);
      --users(buffer);
    }
    backward.sums.push_back({value, a, buffer, to});
    gradient = to;
  }

  /// A ReLU in place, whose output several nodes read: the sum of their gradients is the last that
  /// was done before its turn, by the first of them.
  void fuse_relu_with_sums() {
    for (int n = 0; n < static_cast<int>(graph_.nodes().size()); ++n) {
      const Node& node = graph_.node(n);
      NodeBackward& relu = plan_.backward[static_cast<std::size_t>(n)];
      if (!node.layer || !node.layer->traits().is_relu || !relu.runs || relu.dx[0] != relu.dy ||
          fusion_.node(n).backward_elsewhere)
        continue;
      const std::vector<int>& readers = graph_.value(node.output).consumers;
      if (readers.empty()) continue;
      NodeBackward& first = plan_.backward[static_cast<std::size_t>(readers[0])];
      if (first.adds_to_dx) {
        relu.in_sum = first.with_relu_of_x = true;
        continue;
      }
      std::vector<GradientSum>& sums = first.sums;
      const auto last = std::find_if(sums.rbegin(), sums.rend(), [&](const GradientSum& sum) {
        return sum.value == node.output;
      });
      if (last != sums.rend()) relu.in_sum = last->with_relu = true;
    }
  }

  const Graph& graph_;
  const Fusion& fusion_;
  BatchLimit most_;
  BufferPlan plan_;
  std::vector<int> users_;  // of each gradient buffer: who has still to read it
  std::vector<int> gradient_of_value_;
  int in_output_ = -1;  // the gradient buffer where the output lies
};

}  // namespace

std::vector<int> buffers_of_values(const Graph& graph, const Fusion& fusion) {
  std::vector<int> buffer_of_value;
  int count = 0;
  for (const Value& value : graph.values()) {
    const int overwritten = value.producer < 0 ? -1 : fusion.node(value.producer).overwritten;
    if (overwritten < 0) {
      buffer_of_value.push_back(count++);
    } else {
      const int input = graph.node(value.producer).inputs[static_cast<std::size_t>(overwritten)];
      buffer_of_value.push_back(buffer_of_value[static_cast<std::size_t>(input)]);
    }
  }
  return buffer_of_value;
}

std::vector<ValueBuffer> value_buffers(const Graph& graph, const Fusion& fusion, int max_rows) {
  const std::vector<int> buffer_of_value = buffers_of_values(graph, fusion);
  std::vector<ValueBuffer> buffers;
  for (int v = 0; v < static_cast<int>(graph.values().size()); ++v) {
    const Value& value = graph.value(v);
    const auto number = static_cast<std::size_t>(buffer_of_value[static_cast<std::size_t>(v)]);
    if (number == buffers.size()) {
      const std::int64_t floats = allocated_floats(graph, fusion, v, max_rows);
      buffers.push_back({value.producer, value.producer, value.producer, floats});
    }
    ValueBuffer& buffer = buffers[number];
    buffer.last_producer = std::max(buffer.last_producer, value.producer);
    for (const int reader : value.consumers)
      buffer.last_reader = std::max(buffer.last_reader, reader);
    if (v == graph.output()) buffer.last_reader = static_cast<int>(graph.nodes().size());
  }
  return buffers;
}

int standing_value(const Graph& graph, const Fusion& fusion, int value) {
  const int producer = graph.value(value).producer;
  const int standing = producer < 0 ? fusion.batch_stands_for : fusion.node(producer).stands_for;
  return standing < 0 ? value : standing;
}

Layout value_layout(const Graph& graph, const Fusion& fusion, int value) {
  const int producer = graph.value(value).producer;
  if (producer >= 0 && fusion.node(producer).rounds_output) return Layout::nchw16n_bf16;
  return graph.value(standing_value(graph, fusion, value)).layout;
}

Layout gradient_layout(const Graph& graph, const Fusion& fusion, int value) {
  const int producer = graph.value(value).producer;
  if (producer >= 0 && fusion.node(producer).loss_gradient_in_tiles) return Layout::tiles;
  if (producer >= 0 && fusion.node(producer).rounds_gradient) return Layout::nchw16n_bf16;
  return graph.value(standing_value(graph, fusion, value)).layout;
}

std::int64_t BufferPlan::bytes(int in_flight) const {
  const auto sum = [](const std::vector<std::int64_t>& sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  };
  const std::int64_t each = sum(value_floats) + segment_floats + sum(own_floats);
  return (in_flight * each + sum(gradient_floats) + workspace_floats) * std::int64_t{sizeof(float)};
}

BufferPlan plan_buffers(const Graph& graph, const Fusion& fusion, const BatchLimit& most) {
  return Planner(graph, fusion, most).plan();
}

}  // namespace quern
