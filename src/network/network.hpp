// SPDX-License-Identifier: Apache-2.0
// A network: what is computed, in which order, with which kernels. A plan that does not change;
// the arrays of a batch are apart from it (network/activations.hpp).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "network/activations.hpp"
#include "network/build_graph.hpp"
#include "spec/network_spec.hpp"

namespace quern {

/// What those around a network want of it.
struct NetworkSetup {
  /// Which kernels layers take; of a Graph, what it was built for.
  KernelChoice kernels = {};
  /// By which layers multiply matrices: the same choice, as one object for all of them.
  std::shared_ptr<DenseProducts> products = choose_products(kernels);
  /// Layout of the output, if not the one in which the last layer puts it out.
  std::optional<Layout> output_layout = {};
  /// Values inside segments of the network are not kept but computed again before they are needed
  /// in the backward pass (network/segments.hpp): less memory, more work, the same bits.
  bool recompute = false;
  /// Can the loss apply the derivative of a ReLU at the end? See relu_left_to_loss().
  bool loss_applies_relu = false;
  /// Can the loss write the gradient of the output in Layout::tiles? Then it does, where nobody but
  /// the loss reads the output, and the layer it comes from, or the one in front of a reshape or a
  /// ReLU that is left to the loss, takes it so (LayerTraits::writes_tiles).
  bool loss_writes_tiles = false;
  /// Can the loss read the output where a layer computes it? See hands_over_output().
  bool loss_reads_tiles = false;
  /// Can the loss write the gradient of the output where the output lies? Then it does, where
  /// nobody reads the output after it, and there is no array for that gradient.
  bool loss_overwrites_output = false;
};

/// Owns the layers and the parameter table; the parameters themselves and their gradients live in
/// flat blocks that the caller owns and hands over in StepContext.
class Network {
 public:
  /// Builds the layers and checks that their shapes fit, and that nothing is larger than kernels
  /// can index: otherwise InputError with the layer named and the shapes shown.
  explicit Network(const NetworkSpec& spec, const NetworkSetup& setup = {});
  /// Of what build_graph() returned.
  Network(Graph graph, const NetworkSetup& setup);

  /// d_output() is to be the gradient in front of the ReLU out of which the output comes.
  bool relu_left_to_loss() const { return fusion_.relu_left_to_loss; }

  /// forward() calls StepContext::output_reader, if there is one, with the output in tiles, and
  /// does not write output().
  bool hands_over_output() const { return fusion_.hands_over_output >= 0; }

  /// Rows of a micro-block must be a multiple of this.
  int row_multiple() const { return graph_.row_multiple(); }

  const ParameterTable& table() const { return graph_.table(); }
  /// What is computed, and what is shared.
  const Graph& graph() const { return graph_; }
  const Fusion& fusion() const { return fusion_; }
  /// Does any layer update its parameters by itself?
  bool layers_update_parameters() const;
  /// The parameters, from and to, that no layer updates by itself (StepContext::update).
  std::vector<std::pair<std::int64_t, std::int64_t>> left_to_optimizer() const;
  /// The layers that compute something, in order (flatten only renames, add has none).
  std::vector<const Layer*> layers() const;

  const Shape& input_shape() const { return graph_.value(Graph::kBatch).shape; }
  const Shape& output_shape() const { return graph_.value(graph_.output()).shape; }
  Layout input_layout() const {
    return graph_.value(standing_value(graph_, fusion_, Graph::kBatch)).layout;
  }
  Layout output_layout() const { return graph_.value(graph_.output()).layout; }

  /// Segments whose forward pass runs twice.
  int num_recomputed_segments() const { return static_cast<int>(fusion_.segments.size()) - 1; }

  /// The arrays of a batch up to `most`; `beside`: see Activations.
  Activations allocate(const BatchLimit& most, const Activations* beside = nullptr) const {
    return {graph_, fusion_, most, beside};
  }
  /// Bytes that `in_flight` batches of allocate(most) take beside each other: activations, their
  /// gradients, what layers keep.
  std::int64_t memory_bytes(const BatchLimit& most, int in_flight = 1) const;

  /// What each layer asks StepContext::tensor_exchange for in a step of so many rows.
  std::vector<ExchangedFloats> exchanged_floats(int rows) const;

  /// output() = f(input()), unless it is handed over (hands_over_output()). Error when
  /// step.sample_of_row is shorter than the batch.
  void forward(const ExecSpace& exec, const StepContext& step, const Activations& batch) const;
  /// What of step.gradients forward has found, see Layer::store_statistics. Between forward and
  /// backward.
  void store_statistics(const ExecSpace& exec, const StepContext& step,
                        const Activations& batch) const;
  /// From d_output() to step.gradients, and to d_input() where that is wanted. Overwrites the
  /// gradients of all parameters, from the end of the block to its beginning: complete_from(offset)
  /// tells when the floats from `offset` on are on `exec`, once for each layer with parameters.
  void backward(const ExecSpace& exec, const StepContext& step, const Activations& batch,
                const std::function<void(std::int64_t offset)>& complete_from = {}) const;

  /// Runs forward() and looks at each output before others overwrite it: the name of the first
  /// layer that puts out a value that is not finite in a used row, or "" when there is none. Of
  /// layers that one kernel computes the first is named. Copies to the host: for reports only.
  /// `wait` waits for `exec` after each layer, which may hang on other ranks; by default a fence.
  std::string first_non_finite_layer(const ExecSpace& exec, const StepContext& step,
                                     const Activations& batch,
                                     const std::function<void()>& wait = {}) const;

  /// Multiply-adds of one sample: forward, and a whole training step (no input gradient where
  /// nothing before is trained, no gradient of what is frozen). Outputs that nobody reads count
  /// here, though they are left out.
  std::int64_t forward_macs() const;
  std::int64_t training_macs() const;

 private:
  /// Is there nothing to compute for it, or does another node do so?
  bool has_no_kernel(int node) const;
  void forward_node(const ExecSpace& exec, const StepContext& step, const Activations& batch,
                    int node) const;
  void backward_node(const ExecSpace& exec, const StepContext& step, const Activations& batch,
                     int node) const;

  Graph graph_;
  Fusion fusion_;
};

}  // namespace quern
