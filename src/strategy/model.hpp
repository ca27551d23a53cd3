// SPDX-License-Identifier: Apache-2.0
// The network, or a stage of it, with its parameters, its loss and the batches it is working on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "loss/loss.hpp"
#include "parallel/state_memory.hpp"
#include "parallel/tensor_group.hpp"
#include "strategy/batch_loader.hpp"
#include "strategy/stages.hpp"

namespace quern {

class Model {
 public:
  /// `place`: the stage of the network that it is to have, with layers cut into `slices`.
  /// InputError when layers, loss and target do not fit together, or the network cannot be cut so.
  explicit Model(const Recipe& recipe, const StagePlace& place = {},
                 const TensorSlices& slices = {});

  /// What data.normalize and data.normalize_targets = "dataset" come to, once the data are known.
  /// Before allocate().
  void set_normalization(const NormalizeSpec& inputs, const NormalizeSpec& targets) {
    loader_.set_normalization(inputs, targets);
  }

  /// What loss.class_weights = "balanced" comes to, likewise.
  void set_class_weights(const std::vector<double>& weights) { loss_->set_class_weights(weights); }

  /// Allocates for batches up to `most`, `in_flight` of them at once, and draws the initial
  /// parameters, which live in `memory`.
  void allocate(const BatchLimit& most, const StateMemory& memory = {}, int in_flight = 1);

  /// Of several stages or layers that are spread, after allocate(): collective over grid.pipeline()
  /// and grid.tensor(), where this rank has this model's part. `tensor`: between the ranks of
  /// grid.tensor(), outlives the model; null: messages out of host memory.
  void connect(const ProcessGrid& grid, DeviceTransport* tensor = nullptr);
  /// For what is on `exec`, with an eye on the exchanges inside of layers: Error when one has
  /// failed or is stuck.
  void wait(const ExecSpace& exec) const;

  const Network& network() const { return networks_.own.front(); }
  /// Of which network() may be a stage. For its tensors and sizes: nothing computes with it.
  const Network& whole() const {
    return networks_.whole.empty() ? networks_.own.front() : networks_.whole.front();
  }
  /// Of the block of one rank that has the whole network and computes the same slices.
  const ParameterTable& unsplit_table() const {
    return networks_.unsplit ? *networks_.unsplit : whole().table();
  }
  const StagePlace& place() const { return place_; }
  const TensorSlices& slices() const { return slices_; }
  /// Has it the network's outputs, and of the ranks that have the same is it the first?
  bool puts_out() const { return place_.is_last() && slices_.rank == 0; }
  const std::vector<StageInfo>& stages() const { return networks_.stages; }
  /// Network::row_multiple, of all stages.
  int row_multiple() const { return networks_.row_multiple; }
  /// Bytes that allocate() takes for activations, and connect() for messages.
  std::int64_t activation_bytes(const BatchLimit& most, int in_flight = 1) const;

  // In what follows `batch` is one of those in flight.

  const Activations& activations(int batch = 0) const { return in_flight(batch).activations; }
  /// On ranks of other stages, too, which do not run it.
  const Loss& loss() const { return *loss_; }
  /// The flat block; the name table is network().table().
  const FloatView& parameters() const { return parameters_; }
  /// The array that the block lies in, which may be longer.
  const FloatView& parameter_block() const { return parameter_block_.view; }

  /// Is the output compared with targets that come with the samples (data.target = "values")?
  bool compares_targets() const { return loader_.target() == TargetType::values; }
  bool normalizes_targets() const { return loader_.normalizes_targets(); }
  /// Where compares_targets(): is their mean squared error, in the units that they come in, another
  /// number than the loss?
  bool has_own_squared_error() const { return normalizes_targets() || squared_error_; }
  /// In the targets' unit: what squared errors are measured in, see BatchLoader.
  double error_unit() const { return loader_.error_unit(); }

  /// Of the batch that it is working on: which sample each row has, -1 for none.
  View<const std::int64_t> sample_of_row(int batch = 0) const {
    return in_flight(batch).sample_of_row;
  }

  /// And where these samples lie in their arrays.
  View<const std::int64_t> place_of_row(const Samples& samples, int batch = 0) const {
    return in_flight(batch).places(samples);
  }

  /// InputError unless these samples can be put in. `data`: their name for the message.
  void check_input(const Samples& samples, const std::string& data = "the data") const;
  /// InputError unless they can also be compared with what comes out.
  void check_samples(const Samples& samples, const std::string& data = "the data") const;

  /// The step's surroundings for layers and loss. `gradients` may be empty in evaluation.
  StepContext context(const BatchPlan& plan, Mode mode, const StepScalarsView& scalars,
                      const GradientSums& gradients, int batch = 0) const;

  /// BatchLoader::load; waits for what the stage before has made of the batch.
  void load_batch(const ExecSpace& exec, const BatchPlan& plan, const Samples& samples,
                  const Sampling& sampling, const StepScalarsView& scalars, int batch = 0);

  /// Network::forward, and hands the output to the next stage. When training, the loss may read the
  /// output of the last stage in place of activations().output().
  void forward(const ExecSpace& exec, const StepContext& step, const Samples& samples,
               int batch = 0) const;
  /// The same with Network::first_non_finite_layer.
  std::string first_non_finite_layer(const ExecSpace& exec, const StepContext& step,
                                     const std::function<void()>& wait) const;

  /// Loss and correct answers of the batch after forward, summed over this rank's blocks to
  /// sums[p * stride + offset + {Loss::kLoss, Loss::kCorrect}]; overwrites
  /// activations().d_output(), which may lie where output() does, when training. Nothing but on the
  /// last stage.
  void compute_loss(const ExecSpace& exec, const StepContext& step, const Samples& samples,
                    const GradientSums& sums, std::int64_t offset, int batch = 0) const;

  /// After forward in evaluation, on the last stage (else it does nothing): puts the outputs into
  /// the units of the targets, and where normalizes_targets() the targets, if the samples have any,
  /// as they are. Losses are in these units from then on; nothing can follow in backward.
  void restore_units(const ExecSpace& exec, const Samples& samples, int batch = 0) const;

  /// The same where compares_targets(), in units of error_unit().
  void restore_error_units(const ExecSpace& exec, const Samples& samples) const;
  /// After it, the mean squared error, as compute_loss() adds the loss. Nothing but on the last
  /// stage.
  void compute_squared_error(const ExecSpace& exec, const StepContext& step, const Samples& samples,
                             const GradientSums& sums, std::int64_t offset) const;

  /// Network::backward; waits for the gradient from the next stage, and hands the stage before its
  /// own.
  void backward(const ExecSpace& exec, const StepContext& step,
                const std::function<void(std::int64_t)>& complete_from, int batch = 0) const;

 private:
  Model(const Recipe& recipe, const StagePlace& place, const TensorSlices& slices,
        std::unique_ptr<Loss> loss);

  const LoadedBatch& in_flight(int batch) const {
    return in_flight_[static_cast<std::size_t>(batch)];
  }
  // Does the loss read the output where the last layer computes it? Then one thread does a whole
  // sample tile.
  bool loss_reads_tiles(const ExecSpace& exec, const StepContext& step) const;
  LossContext loss_context(const StepContext& step, const Samples& samples, int batch) const;
  std::int64_t most_summed(int rows) const;

  std::uint64_t seed_;
  InitSpec init_;
  StagePlace place_;
  TensorSlices slices_;
  std::unique_ptr<Loss> loss_;
  std::unique_ptr<Loss> squared_error_;  // where that of targets is not the loss
  StageNetworks networks_;
  BatchLoader loader_;
  int max_rows_ = 0;
  std::vector<LoadedBatch> in_flight_;
  StateBlock parameter_block_;
  FloatView parameters_;  // in parameter_block_
  GridTransports layer_transports_;
  std::unique_ptr<StageExchange> exchange_;  // none if there is one stage
  // None if layers are not spread; the first of them if another transport was given.
  std::unique_ptr<DeviceTransport> tensor_transport_;
  std::unique_ptr<TensorGroup> tensor_group_;
};

/// A line for each tensor of the network, "fc1.weight [128, 784]", and one for its output.
std::string tensors_text(const Network& network);

}  // namespace quern
