// SPDX-License-Identifier: Apache-2.0
// A network: layers in a row with the buffers between them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "network/ops.hpp"
#include "spec/network_spec.hpp"

namespace quern {

/// Owns layers, activations and the parameter table; the parameters themselves and their gradients
/// live in flat blocks that the caller owns and hands over in StepContext.
class Network {
 public:
  /// Builds the layers and checks that their shapes fit, and that nothing is larger than kernels
  /// can index: otherwise InputError with the layer named and the shapes shown.
  explicit Network(const NetworkSpec& spec);

  /// Converts the output where it has another layout. Before allocate().
  void set_output_layout(Layout layout);

  /// Does the output come out of a ReLU whose derivative the loss can apply?
  bool ends_with_relu() const;
  /// From now on d_output() is the gradient in front of that ReLU.
  void leave_out_last_derivative();

  /// What convolutions round their operands to, on a device. Before allocate().
  void use_precision(OperandPrecision precision);

  /// Lets layers use other products than their own. Before allocate().
  void use_products(const std::shared_ptr<DenseProducts>& products);

  /// Allocates all buffers for at most `max_rows` rows. Once, before the first step.
  void allocate(int max_rows);

  /// Rows of the coming batch, at most max_rows, a multiple of row_multiple().
  void set_rows(int rows);
  /// Rows of a micro-block must be a multiple of this: kLanes as soon as one layer uses nchw16n.
  int row_multiple() const { return ops_.uses_nchw16n ? kLanes : 1; }

  const ParameterTable& table() const { return table_; }
  /// The layers that compute something, in order (flatten only renames).
  std::vector<const Layer*> layers() const;

  const Shape& input_shape() const { return ops_.input.shape; }
  const Shape& output_shape() const { return ops_.output.shape; }
  Layout input_layout() const { return ops_.input.layout; }
  Layout output_layout() const { return ops_.output.layout; }

  const Activation& input() const { return ops_.input; }    ///< write the batch here
  const Activation& output() const { return ops_.output; }  ///< prediction, after forward
  const Activation& d_output() const { return d_output_; }  ///< write its gradient here

  /// output() = f(input()).
  void forward(const ExecSpace& exec, const StepContext& step);
  /// From d_output() to step.gradients. Overwrites the gradients of all parameters, from the end of
  /// the block to its beginning: complete_from(offset) tells when the floats from `offset` on are
  /// on `exec`, once for each layer with parameters.
  void backward(const ExecSpace& exec, const StepContext& step,
                const std::function<void(std::int64_t offset)>& complete_from = {});

  /// Name of the first layer (in forward order) whose output holds a value that is not finite in
  /// a used row, or "" when there is none. Of layers that share a buffer (in place, or taken over
  /// by a convolution) the last one's values are seen. Copies to the host: for reports only.
  std::string first_non_finite_layer(const StepContext& step) const;

  /// Bytes that allocate(max_rows) takes: activations, their gradients, what layers keep.
  std::int64_t memory_bytes(int max_rows) const;

  /// Multiply-adds of one sample: forward, and a whole training step (no input gradient for the
  /// first layer with parameters). Outputs that nobody reads count here, though they are left out.
  std::int64_t forward_macs() const;
  std::int64_t training_macs() const;

 private:
  void append_layers(const NetworkSpec& spec);
  void add_parameters();

  ParameterTable table_;
  Ops ops_;
  Activation d_output_;
};

}  // namespace quern
