// SPDX-License-Identifier: Apache-2.0
// How far a training is: what its steps count, where they run and on the host.
#pragma once

#include <cstdint>

#include "parallel/gradient_reducer.hpp"
#include "spec/training_progress.hpp"
#include "strategy/metric_sums.hpp"
#include "tensor/step_scalars.hpp"

namespace quern {

/// Where training stands after the steps so far. All but rank_loss is equal on all ranks.
struct StepReport {
  TrainingProgress progress;  ///< counts the steps that updated parameters
  // Sums over the samples of the last batch.
  double loss = 0;        ///< not divided by their number
  double correct = 0;     ///< answers, see Loss
  bool diverged = false;  ///< the loss of the step after progress.step was not finite
  bool stop = false;      ///< some rank voted to stop
  /// Of this rank: the sum over this epoch's batches of its own mean losses (train.per_rank_loss).
  double rank_loss = 0;
};

/// The kernels of a step count in arrays of their own (scalars(), metric_sums()) and read no number
/// of the host but its vote. The host runs ahead of them: it counts the steps that it has enqueued,
/// which say what batch comes next.
class StepCounters {
 public:
  /// At the start of a training with this seed.
  explicit StepCounters(std::uint64_t seed);

  /// Both go on from `progress`, with updates allowed; waits.
  void set_position(const TrainingProgress& progress);

  /// What the host has enqueued: epochs, steps since the start of the run, samples of the epoch;
  /// and TrainingProgress::plateaus.
  std::int64_t epoch() const { return epoch_; }
  std::int64_t steps() const { return steps_; }
  std::int64_t cursor() const { return cursor_; }
  std::int64_t plateaus() const { return plateaus_; }
  /// A step of so many samples has been enqueued.
  void move_on(int samples) {
    steps_ += 1;
    cursor_ += samples;
  }

  /// What kernels read and write.
  const StepScalarsView& scalars() const { return scalars_; }
  const MetricSumsView& metric_sums() const { return metric_sums_; }

  /// Of the host, for the steps that begin from now on.
  void vote(bool to_stop) const { host_flags_().vote = to_stop ? 1.0f : 0.0f; }
  /// Opens a step on `exec`, and puts the host's vote to `vote`.
  void begin_batch(const ExecSpace& exec, int samples, const FloatView& vote) const;
  /// Closes it: counts its sums and votes.
  void end_batch(const ExecSpace& exec, int samples, const ReducedGradient& gradient) const;
  /// Steps that the kernels have ended, ever, as far as the host sees now; does not wait.
  std::int64_t batches_ended() const { return quern::batches_ended(host_flags_); }

  /// Samples of the epoch before the step that the kernels do next: after a loss that was not
  /// finite, that step. Nothing may be under way.
  std::int64_t cursor_of_kernels() const;
  /// Where the kernels stand. Nothing may be under way.
  StepReport report() const;

 private:
  std::uint64_t seed_;
  StepScalarsView scalars_;
  MetricSumsView metric_sums_;
  HostFlagsView host_flags_;
  std::int64_t epoch_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t cursor_ = 0;
  std::int64_t plateaus_ = 0;
  std::int64_t plateau_epoch_ = 0;
};

}  // namespace quern
