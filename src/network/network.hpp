// SPDX-License-Identifier: Apache-2.0
// A network: layers in a row with the buffers between them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "layers/layer.hpp"
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

  /// Does the output come out of a ReLU whose slope somebody else can apply?
  bool ends_with_relu() const;
  /// From now on d_output() is the gradient in front of that ReLU.
  void leave_out_last_slope();

  /// What convolutions round their operands to, on a device. Before allocate().
  void use_precision(OperandPrecision precision);

  /// Lets layers use other products than their own. Before allocate().
  void use_products(const std::shared_ptr<DenseProducts>& products);

  /// Allocates all buffers for at most `max_slots` slots. Once, before the first step.
  void allocate(int max_slots);

  /// Slots of the coming batch, at most max_slots, a multiple of slot_multiple().
  void set_slots(int slots);
  /// Slots of a micro-block must be a multiple of this: kLanes as soon as one layer uses lanes.
  int slot_multiple() const { return uses_lanes_ ? kLanes : 1; }

  const ParameterTable& table() const { return table_; }
  /// The layers that compute something, in order (flatten only renames).
  std::vector<const Layer*> layers() const;

  const Shape& input_shape() const { return input_.shape; }
  const Shape& output_shape() const { return output_.shape; }
  Layout input_layout() const { return input_.layout; }
  Layout output_layout() const { return output_.layout; }

  const Activation& input() const { return input_; }        ///< write the batch here
  const Activation& output() const { return output_; }      ///< prediction, after forward
  const Activation& d_output() const { return d_output_; }  ///< write its gradient here

  /// The region in which a profiler sees the kernels of a layer, in both directions.
  static std::string region_of(const std::string& layer) { return "quern::network::" + layer; }

  /// output() = f(input()).
  void forward(const ExecSpace& exec, const StepContext& step);
  /// From d_output() to step.gradients. Overwrites the gradients of all parameters, from the end of
  /// the block to its begin: complete_from(offset) tells when the floats from `offset` on are on
  /// `exec`, once for each layer with parameters.
  void backward(const ExecSpace& exec, const StepContext& step,
                const std::function<void(std::int64_t offset)>& complete_from = {});

  /// Name of the first layer (in forward order) whose output holds a value that is not finite in
  /// a used slot, or "" when there is none. Of layers that share a buffer (in place, or taken over
  /// by a convolution) the last one's values are seen. Copies to the host: for reports only.
  std::string first_non_finite_layer(const StepContext& step) const;

  /// Bytes of the activations, their gradients and the layers' workspace, allocated or not.
  std::int64_t memory_bytes(int max_slots) const;

  /// Multiply-adds of one sample: forward, and a whole training step (no input gradient for the
  /// first layer with parameters). Outputs that nobody reads count here, though they are left out.
  std::int64_t forward_macs() const;
  std::int64_t training_macs() const;

 private:
  // One computation: a layer, or a change of layout where `layer` is null.
  struct Stage {
    std::unique_ptr<Layer> layer;
    std::string region;
    Activation x, y, dy, dx;
    std::int64_t full_macs = 0;
    std::int64_t first_parameter = -1;  // where the layer's tensors begin; -1: it has none
    bool in_place = false;
    bool is_relu = false;
    bool forward_fused = false;   // a layer before computes it (ReLU, pool)
    bool backward_fused = false;  // somebody else's: a ReLU's slope the layer's or the loss's
                                  // behind it, a pool's the convolution's before it
  };

  std::int64_t workspace_floats(int max_slots) const;
  void append(std::unique_ptr<Layer> layer);
  void fuse_relus();
  void fuse_first_pool();
  void check_tensors() const;
  void append_conversion(Layout to);
  void append_flatten();
  bool may_overwrite_output() const;
  template <class F>
  void for_each_activation(F&& f);

  ParameterTable table_;
  std::vector<Stage> stages_;
  Activation input_;
  Activation output_;
  Activation d_output_;
  bool uses_lanes_ = false;
};

}  // namespace quern
