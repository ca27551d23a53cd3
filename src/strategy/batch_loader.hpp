// SPDX-License-Identifier: Apache-2.0
// Puts the samples of a batch into the network's input, and aside what its output is compared with.
#pragma once

#include "layers/normalize.hpp"
#include "layers/window.hpp"
#include "loss/loss.hpp"
#include "network/network.hpp"
#include "spec/recipe.hpp"
#include "strategy/batch_plan.hpp"
#include "strategy/samples.hpp"
#include "strategy/stages.hpp"

namespace quern {

/// How a batch is taken out of the data: in order and as it is, unless this says otherwise.
struct Sampling {
  bool shuffle = false;
  AugmentSpec augment = {};  ///< active only in models whose recipe has it
  WindowPlan windows = {};
};

/// The arrays of a batch in flight.
struct LoadedBatch {
  Activations activations;
  View<std::int64_t> sample_of_row;  ///< -1: none
  View<std::int64_t> place_of_row;   ///< in the arrays of samples, of a streamed set
  View<Window> window_of_row;        ///< none unless the recipe augments
  Activation target;  ///< what the prediction should be, in its layout; unset with pixels

  View<const std::int64_t> places(const Samples& samples) const {
    return samples.stream ? place_of_row : sample_of_row;
  }
};

/// Does the network put out what the loss compares with? InputError.
void check_target(const Recipe& recipe, const Network& network);

class BatchLoader {
 public:
  /// Of stage `place` of the network `whole`, which is `network`. It keeps references to all three.
  BatchLoader(const Recipe& recipe, const StagePlace& place, const Network& network,
              const Network& whole, const Loss& loss);

  /// What data.normalize and data.normalize_targets = "dataset" come to, once the data are known.
  /// Before allocate().
  void set_normalization(const NormalizeSpec& inputs, const NormalizeSpec& targets) {
    normalize_ = inputs;
    normalize_targets_ = targets;
  }
  void allocate(int max_rows);
  /// `beside`: as Network::allocate has it. After allocate().
  LoadedBatch allocate_batch(const BatchLimit& most, const Activations* beside) const;

  TargetType target() const { return target_type_; }
  /// Does the network put out normalized values (data.normalize_targets)?
  bool normalizes_targets() const { return normalize_targets_.type != NormalizeType::none; }

  /// Puts the batch at scalars().cursor into the input of a first stage, and its target aside on a
  /// last one. Overwrites `to`.
  void load(const ExecSpace& exec, const BatchPlan& plan, const Samples& samples,
            const Sampling& sampling, const StepScalarsView& scalars, LoadedBatch& to) const;
  LossTarget target_of(const Samples& samples, const LoadedBatch& batch) const;
  /// Where normalizes_targets() and on a last stage: puts the outputs back into the units of the
  /// targets, and the targets, if the samples have any, as they are.
  void restore_units(const ExecSpace& exec, const Samples& samples, const LoadedBatch& batch) const;
  /// The same, all divided by error_unit(): for errors that are squared.
  void restore_error_units(const ExecSpace& exec, const Samples& samples,
                           const LoadedBatch& batch) const;
  /// A power of two: 1, or where squares of the targets' deviations would be no floats, or only
  /// inexact ones, near the largest of them.
  double error_unit() const;

 private:
  void restore(const ExecSpace& exec, const Normalization& normalization, const Samples& samples,
               const LoadedBatch& batch) const;
  // The auto-encoder's target needs no copy where input and output have the same layout.
  bool target_is_input() const;
  // Does the loss read the target as pixels, where the samples lie?
  bool compares_pixels(const Samples& samples) const;
  bool rounds_target(const Samples& samples) const;
  void gather_samples(const ExecSpace& exec, const Samples& samples,
                      const View<const std::int64_t>& place_of_row,
                      const View<const Window>& windows, const Activation& y) const;
  void gather_target(const ExecSpace& exec, const Samples& samples, const LoadedBatch& batch) const;

  TargetType target_type_;
  StagePlace place_;
  const Network* network_;
  const Network* whole_;
  const Loss* loss_;
  bool has_windows_;
  NormalizeSpec normalize_;
  NormalizeSpec normalize_targets_;
  Normalization normalization_;         // inactive unless the recipe has one
  Normalization target_normalization_;  // likewise
  Normalization error_normalization_;   // to error_unit(), where that is not 1
  Normalization to_error_unit_;         // of what is in the targets' units
  Activation unrounded_;  // the input in front of its rounding to tiles, to be normalized
};

}  // namespace quern
