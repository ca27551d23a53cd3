// SPDX-License-Identifier: Apache-2.0
// Which nodes share memory, and which compute their neighbours as well. All of it is decided here,
// from what the layers say they can do. The bits stay the same.
#pragma once

#include <vector>

#include "network/graph.hpp"

namespace quern {

/// What was decided for one node.
struct NodeFusion {
  /// y lies where this input does; -1: in memory of its own. A reshape is always such.
  int overwritten = -1;
  bool forward_elsewhere = false;   ///< a node before computes it (ReLU, pool)
  bool backward_elsewhere = false;  ///< others do: a ReLU's readers or the loss, a pool's layer
  bool with_relu = false;           ///< computes the ReLU after it, too
  bool with_input_relu = false;     ///< applies the derivative of the ReLU in front of it
  int sum = -1;  ///< node of the add that reads it, which it computes, too, with its ReLU
  std::optional<Pool> pool;             ///< computes this pool after that ReLU, too
  bool rounds_output = false;           ///< y is in Layout::nchw16n_bf16
  bool rounds_gradient = false;         ///< and y's gradient
  bool loss_gradient_in_tiles = false;  ///< y's gradient is in Layout::tiles, though y is not
  /// The value that stands where y does: what the last of the nodes puts out that this one
  /// computes; -1: y itself.
  int stands_for = -1;
};

/// The nodes [begin, end).
struct NodeRange {
  int begin = 0;
  int end = 0;
};

struct Fusion {
  std::vector<NodeFusion> nodes;
  /// All nodes, in order. The values inside of each but the last lie where those of the next ones
  /// do, and are computed again in the backward pass (network/segments.hpp).
  std::vector<NodeRange> segments;
  /// The value that is gathered in place of the batch: it with its operands rounded; -1: itself.
  int batch_stands_for = -1;
  /// The loss applies the derivative of the ReLU out of which the output comes.
  bool relu_left_to_loss = false;
  /// The layer that hands its output over to the loss and does not write it, where one is asked to
  /// (StepContext::output_reader); -1: there is none.
  int hands_over_output = -1;
  /// The gradient of the output lies where the output does.
  bool loss_overwrites_output = false;

  NodeFusion& node(int i) { return nodes[static_cast<std::size_t>(i)]; }
  const NodeFusion& node(int i) const { return nodes[static_cast<std::size_t>(i)]; }
};

/// What the loss can do, as NetworkSetup has it.
struct LossTraits {
  bool applies_relu = false;
  bool writes_tiles = false;
  bool overwrites_output = false;
  bool reads_tiles = false;
};

/// In one segment.
Fusion decide_fusion(const Graph& graph, const LossTraits& loss);

}  // namespace quern
