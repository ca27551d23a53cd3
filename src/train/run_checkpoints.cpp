// SPDX-License-Identifier: Apache-2.0
#include "train/run_checkpoints.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/version.hpp"
#include "checkpoint/best_checkpoint.hpp"
#include "checkpoint/dataset_path.hpp"
#include "checkpoint/model_hash.hpp"
#include "comm/agree.hpp"
#include "comm/device_wait.hpp"
#include "comm/exchange.hpp"
#include "config/write_recipe.hpp"
#include "runtime/memory.hpp"
#include "train/report_text.hpp"

namespace quern {

namespace {

constexpr double kFolderCheckSeconds = 1;

}  // namespace

RunCheckpoints::RunCheckpoints(const Recipe& recipe, const ProcessGrid& grid,
                               const RunFolder& folder, const Model& model,
                               const TrainingStep& step, const Samples& train,
                               std::string test_hash, const GridTransports& transports)
    : recipe_(recipe),
      grid_(grid),
      comm_(grid.world()),
      folder_(folder),
      model_(model),
      step_(step),
      train_(train),
      test_hash_(std::move(test_hash)),
      transports_(transports),
      all_take_part_(grid.shape().pipeline > 1 || grid.shape().tensor > 1 ||
                     step.state().place == StatePlace::owners || !transports.are_none()) {}

void RunCheckpoints::check_names() const {
  std::vector<std::string> names;
  for (const ParameterEntry& entry : model_.whole().table().entries()) names.push_back(entry.name);
  std::ranges::sort(names);  // parts of one tensor have its name
  names.erase(std::ranges::unique(names).begin(), names.end());
  check_tensor_names(std::move(names));
}

// It copies model and optimizer state before it writes them. All else is allocated.
void RunCheckpoints::check_room() const {
  std::int64_t bytes = snapshot_bytes(model_.whole().table(), num_state_arrays(recipe_.optimizer));
  // An array that is spread is collected before it is copied.
  if (step_.state().place == StatePlace::owners)
    bytes += model_.network().table().trained_size() * std::int64_t{sizeof(float)};
  const std::string what =
      "the copy of model and optimizer state that checkpoints are written from";
  check_memory(bytes, what);
  check_address_space(bytes, what);
}

void RunCheckpoints::open(const TrainingProgress& at, const BestEvaluation& best, RunReport& report,
                          const RunLock* lock, std::vector<std::filesystem::path> damaged) {
  report_ = &report;
  lock_ = lock;
  begin_step_ = at.step;
  since_written_.restart();
  writer_.emplace(folder_.checkpoints(), recipe_.checkpoint.keep, std::move(damaged));
  if (!recipe_.checkpoint.keep_best ||
      restore_best_checkpoint(folder_.checkpoints(), best, [this] { check_folder(); })) {
    return;
  }
  if (!is_to_be_best(at, best)) log::warn(missing_best_text(best));
}

void RunCheckpoints::begin_at(const CheckpointState& state, Continuation how) {
  if (how.is_in_folder) has_written(state.progress);
  started_from_ = std::move(how.started_from);
  earlier_changes_ = state.changes;
  new_changes_ = std::move(how.changes);
}

BestEvaluation RunCheckpoints::best_of(const CheckpointState& state) const {
  const Monitor monitor = recipe_.train.monitor;
  if (state.best.monitor == monitor && state.best_data == test_hash_) return state.best;
  return {.monitor = monitor, .since = state.progress.epoch};
}

bool RunCheckpoints::is_due(const TrainingProgress& at, const BestEvaluation& best) const {
  const CheckpointSpec& when = recipe_.checkpoint;
  const bool is_epoch_due =
      at.cursor == 0 && when.every_epochs > 0 && at.epoch % when.every_epochs == 0;
  if (is_epoch_due || is_to_be_best(at, best)) return true;
  const bool steps_due = when.every_steps > 0 && at.step % when.every_steps == 0;
  if (when.every_seconds == 0) return steps_due;
  // The clock is rank 0's. Where the others take part in a checkpoint, they have to know.
  const bool time_due = since_last_.seconds() >= when.every_seconds;
  return steps_due || (all_take_part_ ? broadcast_value(comm_, time_due) : time_due);
}

void RunCheckpoints::write(const TrainingProgress& at, const BestEvaluation& best) {
  since_last_.restart();
  const double between = since_written_.seconds();
  const Stopwatch writing;
  const std::unique_ptr<Snapshot> snapshot = take_snapshot();
  try {
    if (snapshot) run_checked([&] { write_file(*snapshot, at, best); });
    has_written(at);
    if (snapshot) tell_of_long_writing(at, writing.seconds(), between);
  } catch (const UnusableError& error) {
    bad_weights_ = error.what();
  }
  since_written_.restart();
  await_ranks(comm_, transports_);
}

// Once: of the first that takes too long. Later ones take as long.
void RunCheckpoints::tell_of_long_writing(const TrainingProgress& at, double seconds,
                                          double between) {
  if (has_told_of_long_writing_ || at.step == begin_step_) return;  // nothing was trained before
  const std::string text = long_checkpoint_text(recipe_.checkpoint, at.step, seconds, between);
  if (text.empty()) return;
  has_told_of_long_writing_ = true;
  log::warn(text);
}

void RunCheckpoints::finish(const TrainingProgress& at, const BestEvaluation& best) {
  // One of that step may have been written within the epoch that has ended since.
  const bool is_written = last_step_ == at.step && last_epoch_ == at.epoch;
  const bool is_due = broadcast_value(comm_, bad_weights_.empty() && !is_written);
  const std::unique_ptr<Snapshot> snapshot = is_due ? take_snapshot() : nullptr;
  run_on_root(comm_, [&] {
    check_folder();
    try {
      if (!bad_weights_.empty()) throw UnusableError(bad_weights_);
      if (snapshot) run_checked([&] { write_file(*snapshot, at, best); });
    } catch (const UnusableError& error) {
      report_->failed(at, error.what());
      throw;
    }
  });
  has_written(at);
}

void RunCheckpoints::has_written(const TrainingProgress& at) {
  last_step_ = at.step;
  last_epoch_ = at.epoch;
}

void RunCheckpoints::check_folder() {
  if (lock_) lock_->check();
  since_folder_check_.restart();
}

void RunCheckpoints::run_checked(const std::function<void()>& write) const {
  if (!lock_) return write();
  lock_->run_checked(write);
}

void RunCheckpoints::check_folder_at_times() {
  if (since_folder_check_.seconds() > kFolderCheckSeconds) check_folder();
}

std::string RunCheckpoints::hash_of_model() const {
  TrainState model;
  model.parameters = model_.parameters();
  const Snapshot snapshot(grid_, model_.whole().table(), model_.network().table(), model);
  return comm_.rank() == 0 ? model_hash(snapshot.state.model) : "";
}

// Rank 0's; null on the others. Collective where state is spread.
std::unique_ptr<Snapshot> RunCheckpoints::take_snapshot() const {
  auto snapshot = std::make_unique<Snapshot>(grid_, model_.whole().table(),
                                             model_.network().table(), step_.state());
  return comm_.rank() == 0 ? std::move(snapshot) : nullptr;
}

bool RunCheckpoints::is_to_be_best(const TrainingProgress& at, const BestEvaluation& best) const {
  return recipe_.checkpoint.keep_best && best.epoch > 0 && best.epoch == at.epoch &&
         best.step == at.step;
}

// Rank 0's. UnusableError when the weights are not finite.
void RunCheckpoints::write_file(Snapshot& snapshot, const TrainingProgress& at,
                                const BestEvaluation& best) {
  check_folder();
  if (!snapshot.is_finite()) throw UnusableError(bad_weights_text(at.step, last_step_));
  snapshot.state.progress = at;
  snapshot.state.best = best;
  snapshot.state.best_data = test_hash_;
  snapshot.state.started_from = started_from_;
  snapshot.state.changes = earlier_changes_;
  snapshot.state.changes.insert(snapshot.state.changes.end(), new_changes_.begin(),
                                new_changes_.end());
  snapshot.state.origin = {recipe_.seed,     step_.full_batch().samples(),
                           comm_.size(),     to_toml(recipe_),
                           git_commit(),     version(),
                           train_.data_hash, utc_timestamp()};
  snapshot.state.class_names = train_.class_names;
  snapshot.state.feature_names = train_.feature_names;
  snapshot.state.input = train_.input_name();
  // A checkpoint that outlives its machine must not be ahead of the lines about its steps.
  report_->sync_files();
  const Stopwatch writing;
  const auto check = [this] { check_folder(); };
  const std::filesystem::path file = writer_->write(snapshot.state, check);
  if (is_to_be_best(at, best)) name_best_checkpoint(file, check);
  report_->events().wrote_checkpoint(at, file, writing.seconds());
}

}  // namespace quern
