// SPDX-License-Identifier: Apache-2.0
// What a run tells of itself: the lines of metrics.jsonl and events.jsonl, and its progress on a
// terminal or in a log.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/stopwatch.hpp"
#include "comm/process_grid.hpp"
#include "inference/evaluation.hpp"
#include "spec/recipe.hpp"
#include "strategy/step_counters.hpp"
#include "strategy/step_timer.hpp"
#include "train/event_log.hpp"
#include "train/metrics_log.hpp"
#include "train/progress.hpp"
#include "train/run_folder.hpp"

namespace quern {

/// Rank 0 writes and speaks, once open() was called there. All ranks call what is "of all ranks",
/// because it has their numbers or their clocks.
class RunReport {
 public:
  /// `recipe` and the grid's world must outlive it. `answers_per_sample`: of the loss.
  /// `test_data`: digest of the content, "" without a test set.
  RunReport(const Recipe& recipe, const ProcessGrid& grid, std::int64_t answers_per_sample,
            std::string test_data = "")
      : recipe_(recipe),
        grid_(grid),
        comm_(grid.world()),
        answers_per_sample_(answers_per_sample),
        test_data_(std::move(test_data)) {}

  /// Rank 0's. The files go on after `at`; `check` comes before what they have of later steps is
  /// dropped. InputError when one cannot be read or written.
  void open(const RunFolder& folder, const TrainingProgress& at, std::int64_t total_steps,
            const std::function<void()>& check = {});
  /// Rank 0's, after open().
  EventLog& events() { return out_->events; }
  /// Rank 0's: what the files say stays when the machine loses power. Error when it cannot.
  void sync_files();
  /// Rank 0's: training begins, with so many threads of a rank and these settings otherwise than
  /// the checkpoint's.
  void started(const TrainingProgress& at, int threads, const std::vector<RecipeChange>& changes);

  /// Of all ranks: clocks start.
  void begin_training();
  void begin_epoch() { since_epoch_.restart(); }
  /// Of all ranks: a step takes a batch of so many samples.
  void add_batch(std::int64_t samples);

  /// After a step with a batch of so many samples.
  void step(const StepReport& report, int samples);
  /// Does metrics.jsonl get a line of this step?
  bool is_line_due(std::int64_t step) const;
  /// Then that line.
  void step_line(const StepReport& report, int samples, double learning_rate);

  /// Of all ranks: since begin_epoch().
  double epoch_seconds() const { return since_epoch_.seconds(); }
  /// Of all ranks, collective: the epoch that has just been counted, and took so long. `times`: of
  /// this rank, where they are known.
  void epoch(const TrainingProgress& at, double seconds, double learning_rate,
             const std::optional<StepTimes>& times);
  /// Of all ranks, collective: `loss` as StepReport::rank_loss.
  void rank_losses(const TrainingProgress& at, double loss);
  void evaluation(const TrainingProgress& at, const Evaluation& result);
  /// Of all ranks: nothing of the epoch is left to tell.
  void end_epoch();
  /// Of all ranks: what took time since the last line was no training.
  void restart_speed();

  void line(const std::string& text);
  void stopped(const TrainingProgress& at, const std::string& reason, const std::string& text);
  /// The bar goes, for an error's message.
  void failed(const TrainingProgress& at, const std::string& text);
  /// The same, where started() was told and no end yet.
  void failed_unless_ended(const TrainingProgress& at, const std::string& text);
  /// No line follows, and the bar goes.
  void finish_lines();
  void finished(const TrainingProgress& at, const std::string& model_hash);

 private:
  struct Output {
    MetricsLog metrics;
    EventLog events;
    Progress bar;
  };

  MetricsLine record(const char* kind, const TrainingProgress& at, std::int64_t epoch, double loss,
                     double correct, std::int64_t samples) const;
  RankTimes rank_times(const StepTimes& times, double seconds);

  const Recipe& recipe_;
  ProcessGrid grid_;
  Communicator& comm_;  // the world
  std::int64_t answers_per_sample_;
  std::string test_data_;
  std::optional<Output> out_;  // rank 0's
  bool is_started_ = false;    // rank 0's: a start without an end
  std::int64_t total_steps_ = 0;
  std::int64_t epoch_samples_ = 0;  // since this process took part in the epoch
  std::int64_t samples_since_line_ = 0;
  Stopwatch since_start_;
  Stopwatch since_epoch_;
  Stopwatch since_line_;
};

}  // namespace quern
