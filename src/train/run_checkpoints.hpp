// SPDX-License-Identifier: Apache-2.0
// The checkpoints of a running training: when one is due, and how the state of all ranks gets into
// rank 0's file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/stopwatch.hpp"
#include "checkpoint/writer.hpp"
#include "comm/process_grid.hpp"
#include "samples/load_samples.hpp"
#include "spec/best_evaluation.hpp"
#include "spec/recipe.hpp"
#include "spec/training_progress.hpp"
#include "state/snapshot.hpp"
#include "strategy/training_step.hpp"
#include "train/run_folder.hpp"
#include "train/run_report.hpp"

namespace quern {

/// How a run goes on from a checkpoint.
struct Continuation {
  bool is_in_folder = true;                ///< its folder has that checkpoint
  std::vector<RecipeChange> changes = {};  ///< settings of its own
  std::string started_from = {};           ///< CheckpointState::started_from
};

class RunCheckpoints {
 public:
  /// All arguments but `grid` must outlive it, and so must the grid's world. Writes nothing.
  RunCheckpoints(const Recipe& recipe, const ProcessGrid& grid, const RunFolder& folder,
                 const Model& model, const TrainingStep& step, const Samples& train,
                 std::string test_hash, const GridTransports& transports);

  /// Rank 0's: can a checkpoint hold tensors of these names? InputError.
  void check_names() const;
  /// Rank 0's: is there memory for the copy that a checkpoint is written from? Error.
  void check_room() const;

  /// Rank 0's, before the others are called. `at`, `best`: where the run goes on. `report` must
  /// outlive it; `lock`, `damaged`: see Trainer::run.
  void open(const TrainingProgress& at, const BestEvaluation& best, RunReport& report,
            const RunLock* lock, std::vector<std::filesystem::path> damaged);

  /// Rank 0's: the step of the newest one in the run folder; -1: none.
  std::int64_t last_step() const { return last_step_; }
  /// Rank 0's: the run goes on from `state`.
  void begin_at(const CheckpointState& state, Continuation how);
  /// Rank 0's: these settings.
  const std::vector<RecipeChange>& new_changes() const { return new_changes_; }

  /// The best evaluation that `state` tells of; none until now where that is of another monitor or
  /// of other test data than this run's.
  BestEvaluation best_of(const CheckpointState& state) const;

  /// By epochs, steps or the clock, or because the evaluation of the epoch that ends here is the
  /// best. The same answer on all ranks that take part in a checkpoint; then collective.
  bool is_due(const TrainingProgress& at, const BestEvaluation& best) const;

  /// Is this the position of the best evaluation, whose checkpoint is to be kept?
  bool is_to_be_best(const TrainingProgress& at, const BestEvaluation& best) const;

  /// In the middle of a run the other ranks hand over their state, where it is spread, and go on:
  /// they wait for rank 0 in the next exchange. One between devices has a deadline, and to write a
  /// large checkpoint may take longer: before those they wait here. If rank 0 finds something wrong
  /// with the weights, bad_weights() is why, and it has to vote to stop.
  void write(const TrainingProgress& at, const BestEvaluation& best);
  /// Collective: nobody leaves before the checkpoint of the last step is on disk. AgreedError with
  /// exit 93 when the weights are not finite.
  void finish(const TrainingProgress& at, const BestEvaluation& best);

  /// Rank 0's: why it could not write a good checkpoint; "" when it could.
  const std::string& bad_weights() const { return bad_weights_; }

  /// Rank 0's. Error when the run folder is another training's by now.
  void check_folder();
  /// Runs `write`; where it fails because the folder is another's or gone, that is the error.
  void run_checked(const std::function<void()>& write) const;
  /// check_folder(), at most once a second: a file server is asked.
  void check_folder_at_times();

  /// Of the model as it is. Rank 0's; "" on the others. Collective where the network is split.
  std::string hash_of_model() const;

 private:
  std::unique_ptr<Snapshot> take_snapshot() const;
  void has_written(const TrainingProgress& at);
  void tell_of_long_writing(const TrainingProgress& at, double seconds, double between);
  void write_file(Snapshot& snapshot, const TrainingProgress& at, const BestEvaluation& best);

  const Recipe& recipe_;
  ProcessGrid grid_;
  Communicator& comm_;  // the world
  const RunFolder& folder_;
  const Model& model_;
  const TrainingStep& step_;
  const Samples& train_;
  std::string test_hash_;
  GridTransports transports_;
  /// All ranks take part: to hand over their state, or to wait for rank 0.
  bool all_take_part_;
  Stopwatch since_last_;

  // Rank 0's.
  std::int64_t last_step_ = -1;
  std::int64_t last_epoch_ = -1;
  std::string bad_weights_;
  std::vector<RecipeChange> earlier_changes_;
  std::vector<RecipeChange> new_changes_;
  std::string started_from_;
  RunReport* report_ = nullptr;
  const RunLock* lock_ = nullptr;
  Stopwatch since_folder_check_;
  Stopwatch since_written_;      // the last one, or since the run began
  std::int64_t begin_step_ = 0;  // of this process
  bool has_told_of_long_writing_ = false;
  std::optional<CheckpointWriter> writer_;
};

}  // namespace quern
