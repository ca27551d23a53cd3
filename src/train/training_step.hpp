// SPDX-License-Identifier: Apache-2.0
// One training step on this rank's part of a global batch.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "optim/clip.hpp"
#include "optim/optimizer.hpp"
#include "optim/schedule.hpp"
#include "train/model.hpp"

namespace quern {

/// Sums over the samples of the whole batch, equal on all ranks.
struct BatchSums {
  double loss = 0;     ///< of the samples' losses, not divided by their number
  double correct = 0;  ///< 0 without labels
  bool stop = false;   ///< some rank voted to stop
};

class TrainingStep {
 public:
  /// Plans, buffers, optimizer and reduction for a run over `samples`; draws the parameters.
  /// `model` and `samples` must outlive it. Collective; AgreedError (exit 2) when the batch has
  /// more micro-blocks than the summation tree, or the node too little memory.
  TrainingStep(const Recipe& recipe, Communicator& comm, Model& model, const Samples& samples);

  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }
  const BatchPlan& full_batch() const { return full_; }
  const BatchPlan& last_batch() const { return last_; }
  const Optimizer& optimizer() const { return *optimizer_; }
  /// What this rank's activations, parameters, gradients and optimizer state take; the data set is
  /// not counted.
  std::int64_t memory_bytes() const { return memory_bytes_; }
  /// How the ranks' gradients are added, for people.
  std::string reduction_text() const { return reducer_->describe(); }

  /// Where the next step stands: steps done, epoch from 0, samples of the epoch consumed.
  void set_position(std::int64_t step, std::int64_t epoch, std::int64_t cursor);

  /// Runs one step: from the batch at the cursor to updated parameters. Collective. When the loss
  /// is not finite, parameters and optimizer stay as they were: look at the sums.
  BatchSums run(const ExecSpace& exec, bool vote_to_stop);

  /// The batch that the last run() worked on.
  const BatchPlan& batch() const { return is_last_ ? last_ : full_; }
  /// Learning rate of the step that follows `steps_done` steps.
  double learning_rate(std::int64_t steps_done) const {
    return quern::learning_rate(schedule_, steps_done);
  }
  /// The layer that first puts out values that are not finite for this rank's part of the last
  /// batch; "" when all are finite.
  std::string non_finite_layer() const;
  /// Sum of the losses of this rank's part of the last batch.
  double local_loss_sum() const;

 private:
  // Behind the parameters the gradient block carries the sums of the loss.
  std::int64_t sums_offset() const { return model_.network().table().block_size(); }
  void allocate(const Recipe& recipe, Communicator& comm);
  ReducedGradient reduce(const ExecSpace& exec, float vote);
  ReductionPlan reduction() const { return is_last_ ? last_reduction_ : full_reduction_; }

  Model& model_;
  const Samples& samples_;
  std::uint64_t seed_;
  bool shuffle_;
  GradientClip clip_;
  std::vector<SharedBlock> state_blocks_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<GradientReducer> reducer_;
  StepScalarsView scalars_;
  BatchPlan full_;
  BatchPlan last_;
  ReductionPlan full_reduction_{};
  ReductionPlan last_reduction_{};
  std::int64_t steps_per_epoch_ = 0;
  Schedule schedule_;
  std::int64_t memory_bytes_ = 0;
  std::int64_t cursor_ = 0;  // host copy of scalars().cursor: it decides which batch comes next
  bool is_last_ = false;
};

}  // namespace quern
