// SPDX-License-Identifier: Apache-2.0
#include "train/trainer.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "checkpoint/best_checkpoint.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "config/write_recipe.hpp"
#include "device/queue.hpp"
#include "state/restore.hpp"
#include "strategy/sample_stream.hpp"
#include "train/report_text.hpp"
#include "train/starting_point.hpp"

namespace quern {

namespace {

// An intact checkpoint may have been written by a program with other limits.
void check_progress(const TrainingProgress& progress, std::int64_t num_samples) {
  if (progress.step >= 0 && progress.epoch >= 0 && progress.cursor >= 0 &&
      progress.cursor <= num_samples) {
    return;
  }
  throw UnusableError(
      "the checkpoint is at step " + std::to_string(progress.step) + ", epoch " +
      std::to_string(progress.epoch) + ", sample " + std::to_string(progress.cursor) +
      ", expected numbers from 0 on and at most " + std::to_string(num_samples) + " samples");
}

void check_monitor(Monitor monitor, const Loss& loss) {
  if (monitor == Monitor::accuracy && loss.answers_per_sample() == 0) {
    throw InputError(
        "train.monitor = \"accuracy\", but the loss says of no answer that it is right "
        "(Loss::answers_per_sample()), expected \"loss\"");
  }
}

}  // namespace

Trainer::Trainer(const Recipe& recipe, const ProcessGrid& grid, const RunFolder& folder,
                 Model& model, const Samples& train, const Samples* test,
                 const TrainerOptions& options)
    : recipe_(recipe),
      grid_(grid),
      comm_(grid.world()),
      folder_(folder),
      model_(model),
      train_(train),
      options_(options),
      step_(recipe, grid, model, train, options.transports),
      checkpoints_(recipe, grid, folder, model, step_, train, test ? test->data_hash : "",
                   options.transports),
      exec_(make_instance()),
      report_(recipe, grid, model.loss().answers_per_sample(), test ? test->data_hash : ""),
      best_{.monitor = recipe.train.monitor} {
  run_on_root(comm_, [&] {
    check_monitor(recipe.train.monitor, model.loss());
    checkpoints_.check_names();
    if (!options_.has_read_checkpoint) checkpoints_.check_room();
  });
  if (!test) return;
  evaluator_.emplace(grid, model, *test,
                     evaluation_batches(recipe, step_.full_batch().samples(), test->count,
                                        recipe.parallel.micro_batches),
                     options.transports);
}

ExitCode Trainer::run(const RunLock* lock, std::vector<std::filesystem::path> damaged) {
  try {
    return train(lock, std::move(damaged));
  } catch (const std::exception& problem) {
    // Before buffers go: freeing them would wait for exchanges whose other side never comes.
    options_.transports.abort();
    tell_of_failure(problem.what(), lock);
    throw;
  } catch (...) {
    options_.transports.abort();
    throw;
  }
}

// Of what ends rank 0, such as a full disk. Not in a folder that is another process's by now.
void Trainer::tell_of_failure(const std::string& text, const RunLock* lock) {
  try {
    if (lock) lock->check();
  } catch (const Error&) {
    return;
  }
  report_.failed_unless_ended(progress_, text);
}

ExitCode Trainer::train(const RunLock* lock, std::vector<std::filesystem::path> damaged) {
  run_on_root(comm_, [&] {
    const std::vector<RecipeChange>& changes = checkpoints_.new_changes();
    if (is_out_of_patience() && !changes.empty())
      refuse_change_of_finished_run(changes.front().key, "more train.patience");
  });
  open_outputs(lock, std::move(damaged));
  StopRequest stop(comm_.rank() == 0 ? folder_.stop_file() : "");
  await_first_samples();
  // Else a run that is killed before its first own checkpoint would begin at other weights again.
  if (begins_elsewhere_) checkpoints_.write(progress_, best_);
  while (progress_.epoch < recipe_.train.epochs && !is_out_of_patience()) {
    step_.set_position(progress_);
    report_.begin_epoch();
    while (step_.cursor() < train_.count) {
      enqueue_step(stop.is_set() || !checkpoints_.bad_weights().empty());
      if (!is_report_due()) continue;
      const StepReport report = take_report();
      log_step(report);
      if (report.stop) {
        stop_on_bad_samples();
        stop.accept();
        return stop_early(stop);
      }
      if (progress_.cursor < train_.count && checkpoints_.is_due(progress_, best_))
        checkpoints_.write(progress_, best_);
    }
    finish_epoch();
  }
  checkpoints_.finish(progress_, best_);
  report_end();
  report_.finish_lines();
  const std::string hash = checkpoints_.hash_of_model();
  run_on_root(comm_, [&] {
    checkpoints_.run_checked(
        [&] { folder_.mark_done(hash, [this] { checkpoints_.check_folder(); }); });
    report_.finished(progress_, hash);
  });
  return ExitCode::done;
}

void Trainer::open_outputs(const RunLock* lock, std::vector<std::filesystem::path> damaged) {
  run_on_root(comm_, [&] {
    const auto check = [lock] {
      if (lock) lock->check();
    };
    const auto open = [&] {
      folder_.create(to_toml(recipe_), check);
      report_.open(folder_, progress_, total_steps(), check);
      checkpoints_.open(progress_, best_, report_, lock, std::move(damaged));
    };
    if (lock) {
      lock->run_checked(open);
    } else {
      open();
    }
    check();
    report_.started(progress_, exec_.concurrency(), checkpoints_.new_changes());
  });
  report_.begin_training();
}

// Before anybody is in the middle of a step, where he would wait for those who cannot read theirs.
void Trainer::await_first_samples() {
  TrainingProgress first = progress_;
  if (first.cursor >= train_.count) {  // stopped at the end of an epoch
    first.epoch += 1;
    first.cursor = 0;
  }
  if (!train_.stream || first.epoch >= recipe_.train.epochs) return;
  step_.set_position(first);
  agree(comm_, [&] { step_.await_samples(exec_); });
}

// A rank that cannot read what comes next has voted to stop while its samples lasted.
void Trainer::stop_on_bad_samples() {
  if (!train_.stream) return;
  try {
    agree(comm_, [&] { train_.stream->rethrow(); });
  } catch (const AgreedError& error) {
    fail_with_checkpoint(error);
  }
}

void Trainer::fail_with_checkpoint(const AgreedError& error) {
  checkpoints_.finish(progress_, best_);
  const std::string text =
      bad_samples_text(error.what(), progress_.step, options_.resuming_command);
  report_.failed(progress_, text);
  throw AgreedError(comm_, text, error.code());
}

void Trainer::enqueue_step(bool vote_to_stop) {
  step_.enqueue(exec_, vote_to_stop);
  report_.add_batch(step_.batch().samples());
}

// The same answer on all ranks: a stop or a divergence is found by all at the same step. Where the
// next batch is of another window, the host waits anyway: a rank that cannot read that window has
// voted to stop, and what a diverged batch was made of is still there.
bool Trainer::is_report_due() const {
  const auto every = [this](int steps) { return steps > 0 && step_.steps() % steps == 0; };
  return step_.cursor() >= train_.count ||
         (train_.stream && train_.stream->hands_back(progress_.epoch, step_.cursor())) ||
         every(options_.report_every_steps) || every(recipe_.train.log_every_steps) ||
         every(recipe_.checkpoint.every_steps);
}

StepReport Trainer::take_report() {
  const StepReport report = step_.read(exec_);
  progress_ = report.progress;
  rank_loss_ = report.rank_loss;
  if (report.diverged) report_divergence(report.loss);
  return report;
}

void Trainer::log_step(const StepReport& report) {
  const int samples = step_.batch().samples();
  // A file server is asked: not after each of many short steps. Before anything is written that may
  // be another process's file by now.
  checkpoints_.check_folder_at_times();
  report_.step(report, samples);
  if (!report_.is_line_due(progress_.step)) return;
  report_.step_line(report, samples, step_.learning_rate(progress_.step - 1));
}

void Trainer::finish_epoch() {
  progress_.epoch += 1;
  const double seconds = report_.epoch_seconds();
  if (comm_.rank() == 0) checkpoints_.check_folder();
  std::optional<StepTimes> times;
  if constexpr (kHostExecution) times = step_.take_times();
  report_.epoch(progress_, seconds, step_.learning_rate(progress_.step - 1), times);
  if (recipe_.train.per_rank_loss) report_.rank_losses(progress_, rank_loss_);
  if (const std::optional<AgreedError> failure = evaluate()) {
    progress_.epoch -= 1;  // who resumes at its end evaluates it
    fail_with_checkpoint(*failure);
  }

  progress_.cursor = 0;
  progress_.epoch_loss_sum = 0;
  progress_.epoch_correct = 0;
  progress_.epoch_samples = 0;
  lower_rate_on_plateau();
  report_.end_epoch();
  if (checkpoints_.is_due(progress_, best_)) checkpoints_.write(progress_, best_);
  report_.restart_speed();
}

Evaluation Trainer::evaluate_test_set() {
  expect(evaluator_.has_value(), "a trainer with a test set");
  return evaluator_->run(exec_);
}

// The epoch that has just ended, where it is due. -> why the test set could not be read.
std::optional<AgreedError> Trainer::evaluate() {
  if (!evaluator_ || !is_evaluated(recipe_.train, progress_.epoch)) return std::nullopt;
  Evaluation result;
  try {
    result = evaluate_test_set();
  } catch (const UnreadableSamples& error) {
    return error;
  }
  const double value = best_.monitor == Monitor::loss ? result.loss : result.accuracy();
  if (best_.is_beaten_by(value)) best_ = {best_.monitor, progress_.epoch, progress_.step, value};
  // It decides what all ranks do: one that saw another last bit would wait for ever.
  if (recipe_.checkpoint.keep_best || recipe_.train.patience > 0 ||
      needs_evaluations(recipe_.optimizer.schedule))
    best_ = broadcast_value(comm_, best_);
  report_.evaluation(progress_, result);
  return std::nullopt;
}

// Of the epochs that follow: also where none does, because the run may go on to more.
void Trainer::lower_rate_on_plateau() {
  const ScheduleSpec& schedule = recipe_.optimizer.schedule;
  if (schedule.type != ScheduleType::plateau || !is_evaluated(recipe_.train, progress_.epoch) ||
      progress_.epoch - std::max({best_.epoch, best_.since, progress_.plateau_epoch}) <
          schedule.patience)
    return;
  const double before = plateau_rate(step_.schedule(), progress_.plateaus);
  const double after = plateau_rate(step_.schedule(), progress_.plateaus + 1);
  if (after == before) return;
  progress_.plateaus += 1;
  progress_.plateau_epoch = progress_.epoch;
  if (progress_.epoch < recipe_.train.epochs && !is_out_of_patience())
    report_.line(plateau_text(best_.monitor, schedule.patience, before, after));
}

bool Trainer::is_out_of_patience() const {
  const int patience = recipe_.train.patience;
  // An epoch that has begun is trained to its end, also where the recipe has less patience now.
  return evaluator_ && patience > 0 && progress_.cursor == 0 &&
         is_evaluated(recipe_.train, progress_.epoch) &&
         progress_.epoch - std::max(best_.epoch, best_.since) >= patience;
}

void Trainer::report_end() {
  if (is_out_of_patience() && progress_.epoch < recipe_.train.epochs)
    report_.line(patience_text(best_.monitor, recipe_.train.patience));
  if (!recipe_.checkpoint.keep_best || comm_.rank() != 0) return;
  if (const auto file = best_checkpoint_of(folder_.checkpoints()))
    report_.line(best_text(best_, file->string()));
}

ExitCode Trainer::stop_early(const StopRequest& stop) {
  checkpoints_.finish(progress_, best_);
  report_.stopped(progress_, stop.reason(),
                  "stopped at step " + std::to_string(progress_.step) + " on request (" +
                      stop.reason() + "); a checkpoint is written, " + stop.condition() +
                      options_.resuming_command + " resumes");
  return ExitCode::requeue;
}

void Trainer::report_divergence(double loss) {
  // Ranks see different samples: the layer nearest to the input over all ranks is the culprit.
  const std::vector<std::string> names = all_gather_strings(comm_, step_.non_finite_layer(exec_));
  std::string culprit;
  std::string place;
  for (const LayerSpec& layer : recipe_.network.layers) {
    const auto first = std::find(names.begin(), names.end(), layer.name);
    if (first == names.end()) continue;
    culprit = layer.name;
    const auto rank = static_cast<int>(first - names.begin());
    // Where each rank has the whole network, any may have met it first.
    if (grid_.shape().pipeline * grid_.shape().tensor > 1)
      place = describe(grid_place(grid_.shape(), rank), grid_.shape());
    break;
  }
  // What rank 0 prints. Weights that are not finite came before the loss of the next step.
  const std::string text =
      checkpoints_.bad_weights().empty()
          ? divergence_text(progress_.step + 1, progress_.epoch + 1, loss, culprit, place,
                            checkpoints_.last_step(), options_.large_input)
          : checkpoints_.bad_weights();
  report_.failed(progress_, text);
  throw AgreedError(comm_, text, ExitCode::do_not_requeue);
}

void Trainer::begin_with(const std::vector<NamedTensor>* tensors) {
  restore_part(grid_, tensors, model_.whole().table(), model_.network().table(), step_.state());
  step_.publish_state();
}

void Trainer::resume(const CheckpointState* state, Continuation how) {
  run_on_root(comm_, [&] { check_progress(state->progress, train_.count); });
  progress_ = broadcast_value(comm_, state ? state->progress : TrainingProgress{});
  best_ = broadcast_value(comm_, state ? checkpoints_.best_of(*state) : best_);
  restore(grid_, state, model_.whole().table(), model_.network().table(), step_.state());
  step_.publish_state();
  begins_elsewhere_ = broadcast_value(comm_, state && !how.is_in_folder);
  if (state) checkpoints_.begin_at(*state, std::move(how));
}

}  // namespace quern
