// SPDX-License-Identifier: Apache-2.0
// The network with its parameters, its loss and the batch it is working on.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "layers/window.hpp"
#include "loss/loss.hpp"
#include "network/network.hpp"
#include "parallel/gradient_reducer.hpp"
#include "spec/recipe.hpp"
#include "strategy/batch_plan.hpp"
#include "strategy/samples.hpp"

namespace quern {

/// How a batch is taken out of the data: in order and as it is, unless this says otherwise.
struct Sampling {
  bool shuffle = false;
  AugmentSpec augment = {};  ///< active only in models whose recipe has it
};

/// Does the network put out what the loss compares with? InputError.
void check_target(const Recipe& recipe, const Network& network);

class Model {
 public:
  /// InputError when layers, loss and target do not fit together.
  explicit Model(const Recipe& recipe);

  using AllocateBlock = std::function<SharedBlock(const std::string& label, std::int64_t count)>;

  /// Allocates for batches of at most `max_rows` rows and draws the initial parameters.
  /// `allocate_block`: where the parameters are to live, if not in memory of this rank alone.
  void allocate(int max_rows, const AllocateBlock& allocate_block = {});

  const Network& network() const { return network_; }
  /// Of the batch that it is working on.
  const Activations& activations() const { return activations_; }
  const Loss& loss() const { return *loss_; }
  /// The flat block; the name table is network().table().
  const FloatView& parameters() const { return parameters_; }
  /// The array that the block lies in, which may be longer.
  const FloatView& parameter_block() const { return parameter_block_.view; }

  /// InputError unless these samples can be put in and compared with what comes out.
  void check_samples(const Samples& samples) const;

  /// The step's surroundings for layers and loss. `gradients` may be empty in evaluation.
  StepContext context(const BatchPlan& plan, Mode mode, const StepScalarsView& scalars,
                      const GradientSums& gradients) const;

  /// Puts the batch at scalars().cursor into the network's input, and its target aside.
  void load_batch(const ExecSpace& exec, const BatchPlan& plan, const Samples& samples,
                  const Sampling& sampling, const StepScalarsView& scalars);

  /// Loss and correct answers of the batch after forward, summed over this rank's blocks to
  /// sums[p * stride + offset + {Loss::kLoss, Loss::kCorrect}]; overwrites activations().d_output()
  /// when training.
  void compute_loss(const ExecSpace& exec, const StepContext& step, const Samples& samples,
                    const GradientSums& sums, std::int64_t offset) const;

 private:
  Model(const Recipe& recipe, Graph graph);

  // The auto-encoder's target needs no copy where input and output have the same layout.
  bool target_is_input() const;

  std::uint64_t seed_;
  InitSpec init_;
  TargetType target_type_;
  std::unique_ptr<Loss> loss_;
  Network network_;
  Activations activations_;
  SharedBlock parameter_block_;
  FloatView parameters_;  // in parameter_block_
  View<std::int64_t> sample_of_row_;
  bool has_windows_;
  View<Window> window_of_row_;  // none unless has_windows_
  Activation target_;           // mse: what the prediction should be, in its layout
};

}  // namespace quern
