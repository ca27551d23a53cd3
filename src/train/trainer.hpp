// SPDX-License-Identifier: Apache-2.0
// A whole training run: epochs, evaluation, metrics, checkpoints, stopping and resuming.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "checkpoint/checkpoint_state.hpp"
#include "comm/agree.hpp"
#include "inference/evaluator.hpp"
#include "strategy/training_step.hpp"
#include "train/run_checkpoints.hpp"
#include "train/run_folder.hpp"
#include "train/run_report.hpp"
#include "train/stop_request.hpp"

namespace quern {

/// How a run uses the machine; its results do not depend on it.
struct TrainerOptions {
  /// Between devices; none: between hosts.
  GridTransports transports = {};
  /// Steps after which the host looks at the latest at what they led to. It costs nothing where
  /// kernels run on the host; on a device it would wait for the queue to run empty.
  int report_every_steps = kHostExecution ? 1 : 50;
  /// Rank 0 has read the checkpoint to start from: its memory is free again before one is written.
  bool has_read_checkpoint = false;
  /// The largest input, where inputs are large and not normalized; else 0.
  double large_input = 0;
  /// What goes on with the run after a stop, for messages.
  std::string resuming_command = "the same command";
};

class Trainer {
 public:
  /// `test` may be null. All arguments but `grid` must outlive the trainer, and so must its world.
  /// Collective; writes nothing.
  Trainer(const Recipe& recipe, const ProcessGrid& grid, const RunFolder& folder, Model& model,
          const Samples& train, const Samples* test, const TrainerOptions& options = {});

  const TrainingStep& training_step() const { return step_; }
  std::int64_t total_steps() const { return step_.steps_per_epoch() * recipe_.train.epochs; }

  /// Collective. Continues from rank 0's checkpoint (the other ranks pass nullptr). AgreedError
  /// when it does not fit (exit 2) or stands outside the data (exit 93). `how`: rank 0's. A
  /// checkpoint that is not the run folder's own is written there before anything is trained.
  void resume(const CheckpointState* state, Continuation how = {});

  /// Collective, before run(). Overwrites these of the model's parameters with rank 0's `tensors`
  /// (the other ranks pass nullptr), which have names and shapes of the network.
  void begin_with(const std::vector<NamedTensor>* tensors);

  /// Collective. Trains to the end (done) or to a stop that was asked for (requeue). AgreedError
  /// with exit 93 when the loss is no longer finite; the last checkpoint stays. `lock`: rank 0's
  /// right to the run folder, checked before it is written to; it may be null. `damaged`: its
  /// checkpoints there that do not count for checkpoint.keep.
  ExitCode run(const RunLock* lock = nullptr, std::vector<std::filesystem::path> damaged = {});

  /// Collective. Loss and accuracy over `test`, which must have been given.
  Evaluation evaluate_test_set();

 private:
  ExitCode train(const RunLock* lock, std::vector<std::filesystem::path> damaged);
  void tell_of_failure(const std::string& text, const RunLock* lock);
  void open_outputs(const RunLock* lock, std::vector<std::filesystem::path> damaged);
  void await_first_samples();
  void stop_on_bad_samples();
  [[noreturn]] void fail_with_checkpoint(const AgreedError& error);
  void enqueue_step(bool vote_to_stop);
  bool is_report_due() const;
  StepReport take_report();
  void log_step(const StepReport& report);
  void finish_epoch();
  std::optional<AgreedError> evaluate();
  void lower_rate_on_plateau();
  bool is_out_of_patience() const;
  void report_end();
  ExitCode stop_early(const StopRequest& stop);
  [[noreturn]] void report_divergence(double loss);

  const Recipe& recipe_;
  ProcessGrid grid_;
  Communicator& comm_;  // the world
  const RunFolder& folder_;
  Model& model_;
  const Samples& train_;
  TrainerOptions options_;
  TrainingStep step_;
  RunCheckpoints checkpoints_;
  std::optional<Evaluator> evaluator_;
  ExecSpace exec_;
  RunReport report_;

  TrainingProgress progress_;      // as of the last report
  BestEvaluation best_;            // equal on all ranks
  bool begins_elsewhere_ = false;  // from a file that is not the run folder's
  double rank_loss_ = 0;           // see StepReport, as of the last report
};

}  // namespace quern
