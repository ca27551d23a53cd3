// SPDX-License-Identifier: Apache-2.0
// What every layer does. A layer owns no arrays: activations, parameters and all other memory are
// handed to it, so that several batches may be in flight.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layers/pool_window.hpp"
#include "linalg/batch_sums.hpp"
#include "linalg/block_schedule.hpp"
#include "linalg/dense_products.hpp"
#include "linalg/tensor_exchange.hpp"
#include "spec/network_spec.hpp"
#include "tensor/activation.hpp"
#include "tensor/output_reader.hpp"
#include "tensor/parameter_block.hpp"
#include "tensor/parameter_update.hpp"
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
  /// For layers that need sums over the global batch; null: the schedule is of all its blocks.
  BatchSums* batch_sums = nullptr;
  /// For layers of which each rank of a tensor group computes some units; null: there are none.
  TensorExchange* tensor_exchange = nullptr;
  /// Where there is one, gradients are of the whole batch and one partial sum: layers that can
  /// (LayerTraits::updates_parameters) update their parameters by it and store no gradient.
  ParameterUpdate update = {};
  /// Where there is one: the layer that can (LayerTraits::hands_over_output) and whose output
  /// nobody else reads calls it with that, and leaves y as it is.
  const OutputReader* output_reader = nullptr;
  /// The last call with the same arrays was a backward() with `update`, and nobody has changed the
  /// parameters since: packed copies that layers made then are those of the parameters.
  bool has_packed_weights = false;
  /// forward() runs for the second time in this step, on the same x and parameters, because y was
  /// not kept (network/segments.hpp). What it left in LayerArrays::own is still there, and sums
  /// over the batch are not taken twice.
  bool is_again = false;
};

/// What a layer can do besides its own work. What of it happens is the network's decision
/// (network/fusion.hpp), which set_up() tells.
struct LayerTraits {
  /// forward may overwrite its input (y = x), and backward its dy (dx = dy).
  bool in_place = false;
  /// backward may overwrite its dy, whether or not forward may.
  bool overwrites_gradient = false;
  /// backward reads y: nobody may overwrite it.
  bool reads_output = false;
  /// y = max(x, 0), and backward is its derivative.
  bool is_relu = false;
  /// forward can put out max(f(x), 0). backward is then handed the gradient in front of that ReLU.
  bool applies_relu = false;
  /// And backward its derivative: it is handed the gradient after that ReLU.
  bool applies_relu_backward = false;
  /// forward can put out f(x) + a, or max(f(x) + a, 0), a another value (LayerArrays::addend).
  /// backward is then handed the gradient in front of that sum.
  bool applies_add = false;
  /// Where x comes out of a ReLU: backward can apply the ReLU's derivative, so that dx is the
  /// gradient in front of it.
  bool applies_input_relu = false;
  /// backward can add to what dx holds, and apply the derivative of the ReLU that x comes out of to
  /// the sum. The plan of the buffers decides it for each array (LayerArrays::adds_to_dx).
  bool adds_to_gradient = false;
  /// Where all that reads y are products: forward can put it out in Layout::tiles. backward takes
  /// dy in tiles or laid out as y, whatever y is in: dy.layout says so.
  bool writes_tiles = false;
  /// forward can call StepContext::output_reader in place of writing y.
  bool hands_over_output = false;
  /// x, or dy, may be in Layout::nchw16n_bf16 where the layer works in nchw16n: it rounds them to
  /// that before all else. x may not where it applies_input_relu.
  bool reads_rounded_input = false;
  bool reads_rounded_gradient = false;
  /// Where the layer works in nchw16n: forward can put out y, and backward dx, in nchw16n_bf16. As
  /// above the array's layout says so. Not a dx to which it adds.
  bool writes_rounded_output = false;
  bool writes_rounded_gradient = false;
  /// backward uses StepContext::update for all of its parameters.
  bool updates_parameters = false;
  /// Of a pool: what a convolution has to know to compute this layer as well.
  std::optional<Pool> pool = {};
  /// Of a layer that mixes samples when training: how many it needs, of the global batch or of each
  /// micro-block.
  int least_samples = 1;
  bool in_each_block = false;
};

/// What a layer is to do beside its own work, and with which products.
struct LayerSetup {
  bool with_relu = false;          ///< LayerTraits::applies_relu
  bool with_add = false;           ///< LayerTraits::applies_add
  bool with_relu_of_sum = false;   ///< and the ReLU of that sum
  bool with_input_relu = false;    ///< LayerTraits::applies_input_relu
  bool hands_over_output = false;  ///< LayerTraits::hands_over_output
  /// ParameterTable::trained_size(), once all layers have entered their tensors; -1: this is the
  /// last layer with any.
  std::int64_t first_buffer = -1;
  /// ParameterTable::reduced_size(), in the same way.
  std::int64_t first_frozen = -1;
  /// Computes this pool after that ReLU, too: y is the pool's output, backward is handed its
  /// gradient, and dx is not needed.
  std::optional<Pool> pool = {};
  /// By which a layer multiplies matrices.
  std::shared_ptr<DenseProducts> products = choose_products();
};

/// The arrays of one call, for the same number of rows.
struct LayerArrays {
  Activation x = {};
  Activation y = {};
  Activation dy = {};  ///< backward only, as dx
  Activation dx = {};  ///< empty: not needed
  /// With LayerTraits::adds_to_gradient: dx holds what other readers of x have handed back, and
  /// becomes the sum; with_relu_of_x: of that the gradient in front of the ReLU that puts out x.
  bool adds_to_dx = false;
  bool with_relu_of_x = false;
  /// Layer::own_floats() floats, zero at first, which nobody else touches: what forward leaves
  /// there backward finds.
  FloatView own = {};
  /// Layer::workspace_floats() floats, at least; others overwrite them between two calls.
  FloatView workspace = {};
  Activation addend = {};  ///< with LayerSetup::with_add, laid out as y
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

  virtual LayerTraits traits() const { return {}; }
  /// With traits().applies_relu: can it compute a ReLU and then this pool as well?
  virtual bool can_compute(const Pool&) const { return false; }

  /// The top left part of x that the same part `read` of y depends on, channels always all. Layers
  /// after this one may leave the last rows and columns of y unread: then they need not be
  /// computed.
  virtual Shape needed_input(const Shape& /*read*/) const { return input_; }

  /// Multiply-adds of the forward pass per sample; 0 where they do not count beside the products.
  virtual std::int64_t macs() const { return 0; }

  /// Enters this layer's tensors into the table; keeps their offsets. Once.
  virtual void add_parameters(ParameterTable&) {}

  /// Called once, after add_parameters() and before all that follows.
  virtual void set_up(const LayerSetup&) {}

  // Memory for batches up to `most`, see LayerArrays. It decides whether a run fits.
  virtual std::int64_t own_floats(const BatchLimit& /*most*/) const { return 0; }
  virtual std::int64_t workspace_floats(const BatchLimit& /*most*/) const { return 0; }
  /// What each thread allocates for itself, once, and all layers share (layers/host/scratch.hpp).
  virtual std::int64_t scratch_floats(const BatchLimit& /*most*/) const { return 0; }

  /// Floats of the sums that it asks StepContext::batch_sums for.
  virtual std::vector<std::int64_t> batch_sums() const { return {}; }
  /// What it asks StepContext::tensor_exchange for.
  virtual ExchangedFloats exchanged_floats(int /*rows*/) const { return {}; }

  /// y = f(x). Overwrites y. No allocation, no fence.
  virtual void forward(const ExecSpace& exec, const StepContext& step,
                       const LayerArrays& arrays) const = 0;

  /// Overwrites what the buffers that are averaged have in step.gradients, if forward has not done
  /// so: with several batches in flight these sums are not to be touched before the backward pass
  /// begins.
  virtual void store_statistics(const ExecSpace& /*exec*/, const StepContext& /*step*/,
                                const LayerArrays& /*arrays*/) const {}

  /// Overwrites dx (skipped when dx is empty; LayerArrays::adds_to_dx: adds to it) and this layer's
  /// part of step.gradients.
  virtual void backward(const ExecSpace& exec, const StepContext& step,
                        const LayerArrays& arrays) const = 0;

 private:
  std::string name_;
  Shape input_;
  Shape output_;
};

/// Are the parameters of the layer that `spec` describes trained?
inline Training training_of(const LayerSpec& spec) {
  return spec.trainable ? Training::trained : Training::frozen;
}

/// The memory that `layer` needs besides activations, for one layer on its own.
LayerArrays allocate_memory(const Layer& layer, const BatchLimit& most);

}  // namespace quern
