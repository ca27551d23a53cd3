// SPDX-License-Identifier: Apache-2.0
// What every layer does. A layer owns no activations and no parameters: it is handed both.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "layers/pool_window.hpp"
#include "linalg/block_schedule.hpp"
#include "linalg/dense_products.hpp"
#include "tensor/activation.hpp"
#include "tensor/parameter_block.hpp"
#include "tensor/step_scalars.hpp"

namespace quern {

enum class Mode { train, evaluate };

/// Everything of the current step that is not an activation.
struct StepContext {
  Mode mode = Mode::train;
  BlockSchedule schedule;
  StepScalarsView scalars;
  /// Sample index of each row in the data set, -1 for an empty row.
  View<const std::int64_t> sample_of_row;
  FloatView parameters;    ///< the flat block
  GradientSums gradients;  ///< the flat gradient block, once per partial sum
};

class Layer {
 public:
  Layer(std::string name, Shape input, Shape output)
      : name_(std::move(name)), input_(input), output_(output) {}
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  const std::string& name() const { return name_; }
  const Shape& input_shape() const { return input_; }
  const Shape& output_shape() const { return output_; }

  /// Layouts this layer works in, given the layout that comes in: image layers ask for nchw16n,
  /// flat layers for flat_layout(), elementwise layers keep what they get.
  virtual Layout input_layout(Layout incoming) const { return incoming; }
  virtual Layout output_layout(Layout input) const { return input; }

  /// May forward overwrite its input (y = x) and backward its dy (dx = dy)?
  virtual bool in_place() const { return false; }
  /// Does backward read y? Then the next layer must not overwrite it.
  virtual bool needs_output() const { return false; }

  /// The top left part of x that the same part `read` of y depends on, channels always all. Layers
  /// after this one may leave the last rows and columns of y unread: then they need not be
  /// computed.
  virtual Shape needed_input(const Shape& /*read*/) const { return input_; }

  /// Asked once by the network when a ReLU reads y: true if forward takes it over, y = max(f(x),
  /// 0). backward is then handed the gradient in front of the ReLU.
  virtual bool fuse_relu() { return false; }
  /// Asked once when x comes out of a ReLU: true if backward takes over the ReLU's derivative, so
  /// that dx is the gradient in front of it.
  virtual bool fuse_input_relu() { return false; }

  /// What a convolution has to know to compute this layer as well; nothing if this is no pool.
  virtual std::optional<Pool> as_pool() const { return {}; }
  /// Asked once by the network, after fuse_relu(), when that ReLU and then a pool read y, and
  /// nobody wants dx: true if forward takes over the pool, too. y is the pool's output from then
  /// on, and backward is handed its gradient.
  virtual bool fuse_pool(const Pool&) { return false; }

  /// Multiply-adds of the forward pass per sample; 0 where they do not count beside the products.
  virtual std::int64_t macs() const { return 0; }

  /// What a layer rounds the operands of its own products to, on a device. Before allocate().
  virtual void use_precision(OperandPrecision) {}
  /// Hands over dense products to use instead of a layer's own. Before allocate().
  virtual void use_products(const std::shared_ptr<DenseProducts>&) {}

  /// Enters this layer's tensors into the table; keeps their offsets.
  virtual void add_parameters(ParameterTable&) {}

  /// Allocates what only this layer uses, for at most `max_rows` rows. Called once, before the
  /// first step.
  virtual void allocate(int /*max_rows*/) {}
  /// Bytes that allocate(max_rows) takes. This decides whether a run fits.
  virtual std::int64_t own_bytes(int /*max_rows*/) const { return 0; }

  /// Floats of scratch memory for steps of at most `max_rows` rows. All layers share the one that
  /// use_workspace() hands over before the first step, as large as the largest wants it; between
  /// forward and backward of a layer others overwrite it.
  virtual std::int64_t workspace_floats(int /*max_rows*/) const { return 0; }
  virtual void use_workspace(const FloatView&) {}

  /// y = f(x). Overwrites y. No allocation, no fence.
  virtual void forward(const ExecSpace& exec, const StepContext& step, const Activation& x,
                       const Activation& y) = 0;

  /// Overwrites dx (skipped when dx is empty) and this layer's part of step.gradients.
  virtual void backward(const ExecSpace& exec, const StepContext& step, const Activation& x,
                        const Activation& y, const Activation& dy, const Activation& dx) = 0;

 private:
  std::string name_;
  Shape input_;
  Shape output_;
};

}  // namespace quern
