// SPDX-License-Identifier: Apache-2.0
// The arrays of one batch in flight.
#pragma once

#include <vector>

#include "network/buffer_plan.hpp"

namespace quern {

/// What a node is handed. Arrays that lie in one buffer share its memory.
struct NodeArrays {
  /// Of the sum of gradients: to = a + b.
  struct Sum {
    Activation a, b, to;
    Activation relu;  ///< GradientSum::with_relu: the value
  };
  LayerArrays layer;
  std::vector<Activation> others;    ///< the inputs of a sum or concat behind the first
  std::vector<Activation> d_others;  ///< their gradients, of a concat in the backward pass
  bool runs_backward = false;
  bool backward_in_sum = false;  ///< NodeBackward::in_sum
  bool runs_again = false;       ///< its forward pass, before backward
  std::vector<Sum> sums;         ///< of gradients, after backward
};

class Activations {
 public:
  /// None.
  Activations() = default;
  /// Allocates everything for batches up to `most`. `beside`, of the same graph and limit, may be
  /// in flight at the same time: gradients, but for a d_output() in its output(), and workspace
  /// are shared with it, and serve one backward pass after the other.
  Activations(const Graph& graph, const Fusion& fusion, const BatchLimit& most,
              const Activations* beside = nullptr);

  /// Rows of the coming batch, within the limit, in micro-blocks of `block_rows`, a multiple of
  /// Network::row_multiple(); 0: in one.
  void set_rows(int rows, int block_rows = 0);

  const Activation& input() const { return input_; }    ///< write the batch here
  const Activation& output() const { return output_; }  ///< prediction, after forward
  /// Write its gradient here. It lies where output() does if NetworkSetup::loss_overwrites_output
  /// has led to that.
  const Activation& d_output() const { return d_output_; }
  /// The gradient of input(), after backward; empty unless it wants one.
  const Activation& d_input() const { return d_input_; }

  const NodeArrays& node(int i) const { return nodes_[static_cast<std::size_t>(i)]; }

 private:
  BatchLimit most_ = 0;
  int row_multiple_ = 1;
  std::vector<NodeArrays> nodes_;
  Activation input_;
  Activation output_;
  Activation d_output_;
  Activation d_input_;
  std::vector<FloatView> gradients_;
  FloatView workspace_;
};

}  // namespace quern
