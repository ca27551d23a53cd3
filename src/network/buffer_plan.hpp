// SPDX-License-Identifier: Apache-2.0
// In which buffers the values of a batch and their gradients lie, and how large these are.
#pragma once

#include <cstdint>
#include <vector>

#include "network/fusion.hpp"
#include "network/graph.hpp"

namespace quern {

/// Where a value is read several times, its gradient is the sum of what the readers hand back: of
/// buffers `a` and `b`, written to `to`, which may be one of them. A layer may also add to it by
/// itself (NodeBackward::adds_to_dx). The nodes that read the value come from the last to the
/// first, so that the order is fixed. A conversion is such a node: it stands in front of the first
/// reader that wants its layout, and hands back the sum of all that share it.
struct GradientSum {
  int value = 0;
  int a = 0;
  int b = 0;
  int to = 0;
  /// The last one of a value that comes out of a ReLU: applies the derivative of the ReLU, too.
  bool with_relu = false;
};

/// The backward pass at one node. Buffers by number, -1: none.
struct NodeBackward {
  bool runs = false;    ///< does anything in front of its output want a gradient?
  bool in_sum = false;  ///< a GradientSum computes it (with_relu), or a layer (with_relu_of_x)
  int dy = -1;
  std::vector<int> dx;            ///< of each input
  bool adds_to_dx = false;        ///< LayerArrays: the layer computes the sum by itself
  bool with_relu_of_x = false;    ///< and the derivative of the ReLU
  std::vector<GradientSum> sums;  ///< afterwards
};

/// A buffer for values: of one, or of several that overwrite each other.
struct ValueBuffer {
  /// The first and the last node that writes to it; -1: it is the batch's.
  int first_producer = -1;
  int last_producer = -1;
  int last_reader = -1;  ///< the last node that reads it in the forward pass; the loss comes last
  std::int64_t floats = 0;
};

struct BufferPlan {
  /// Of each buffer for values that stay until backward; of the others 0: they lie in one block
  /// that the segments of the network use in turn, from place_in_segment on.
  std::vector<std::int64_t> value_floats;
  std::vector<std::int64_t> place_in_segment;  ///< of each buffer; -1: it has memory of its own
  std::int64_t segment_floats = 0;             ///< of that block
  std::vector<bool> runs_again;                ///< each node: its forward pass, before backward?
  std::vector<int> buffer_of_value;
  /// Of each buffer for gradients. One serves several gradients, one after the other.
  std::vector<std::int64_t> gradient_floats;
  std::vector<NodeBackward> backward;  ///< of each node
  /// Buffer of the gradient of the output. Where the loss overwrites the output it lies there: that
  /// buffer has 0 floats, and serves no other gradient but those that take its place.
  int d_output = -1;
  int d_input = -1;                      ///< of the batch; -1: it wants none
  std::vector<std::int64_t> own_floats;  ///< of each node (Layer::own_floats)
  std::int64_t workspace_floats = 0;     ///< shared by all layers
  std::int64_t scratch_floats = 0;       ///< the same, of each thread, which allocates it by itself

  /// For `in_flight` batches in flight at once. Gradients and workspace serve one after the other.
  /// Without scratch.
  std::int64_t bytes(int in_flight = 1) const;
};

/// For batches up to `most`. Nobody computes gradients in front of the first parameters.
BufferPlan plan_buffers(const Graph& graph, const Fusion& fusion, const BatchLimit& most);

/// The buffers for values, for at most `max_rows` rows, and of each value its buffer.
std::vector<ValueBuffer> value_buffers(const Graph& graph, const Fusion& fusion, int max_rows);
std::vector<int> buffers_of_values(const Graph& graph, const Fusion& fusion);

/// `value`, or what stands in its place (NodeFusion::stands_for).
int standing_value(const Graph& graph, const Fusion& fusion, int value);

/// Layout of `value`, or of what stands in its place.
Layout value_layout(const Graph& graph, const Fusion& fusion, int value);

/// Layout of the gradient of `value`.
Layout gradient_layout(const Graph& graph, const Fusion& fusion, int value);

}  // namespace quern
