// SPDX-License-Identifier: Apache-2.0
#include "train/run_report.hpp"

#include <algorithm>

#include "comm/exchange.hpp"
#include "io/pending_file.hpp"
#include "train/report_text.hpp"

namespace quern {

void RunReport::open(const RunFolder& folder, const TrainingProgress& at, std::int64_t total_steps,
                     const std::function<void()>& check) {
  total_steps_ = total_steps;
  out_.emplace(Output{MetricsLog(folder.metrics_file(), at.step, at.epoch, check),
                      EventLog(folder.events_file()), Progress(true, at.step, total_steps)});
  sync_path(folder.path());  // their names
}

void RunReport::started(const TrainingProgress& at, int threads,
                        const std::vector<RecipeChange>& changes) {
  TrainingStart start{.total_steps = total_steps_,
                      .threads = threads,
                      .changes = changes,
                      .monitor = recipe_.train.monitor,
                      .test_data = test_data_};
  for (int rank = 0; rank < comm_.size(); ++rank) start.hosts.push_back(comm_.host(rank));
  out_->events.started(at, start);
  is_started_ = true;
}

void RunReport::sync_files() {
  out_->metrics.sync();
  out_->events.sync();
}

void RunReport::begin_training() {
  since_start_.restart();
  since_line_.restart();
}

void RunReport::add_batch(std::int64_t samples) {
  epoch_samples_ += samples;
  samples_since_line_ += samples;
}

void RunReport::step(const StepReport& report, int samples) {
  if (!out_) return;
  out_->bar.step(report.progress.step, [&] {
    const double rate = static_cast<double>(epoch_samples_) / since_epoch_.seconds();
    return bar_text(report.progress.epoch + 1, recipe_.train.epochs, report.loss / samples,
                    out_->bar.has_terminal() ? std::optional<double>() : rate);
  });
}

bool RunReport::is_line_due(std::int64_t step) const {
  const int every = recipe_.train.log_every_steps;
  return out_ && every > 0 && step % every == 0;
}

void RunReport::step_line(const StepReport& report, int samples, double learning_rate) {
  const TrainingProgress& at = report.progress;
  MetricsLine line =
      record("step", at, at.epoch + 1, report.loss / samples, report.correct, samples);
  line.learning_rate = learning_rate;
  line.samples_per_s = static_cast<double>(samples_since_line_) / since_line_.seconds();
  out_->metrics.write(line);
  samples_since_line_ = 0;
  since_line_.restart();
}

void RunReport::epoch(const TrainingProgress& at, double seconds, double learning_rate,
                      const std::optional<StepTimes>& times) {
  const double rate = static_cast<double>(epoch_samples_) / seconds;
  const double loss = at.epoch_loss_sum / static_cast<double>(at.epoch_samples);
  MetricsLine line =
      record("epoch", at, at.epoch, loss, static_cast<double>(at.epoch_correct), at.epoch_samples);
  line.learning_rate = learning_rate;
  if (epoch_samples_ > 0) line.samples_per_s = rate;
  if (times) line.rank_times = rank_times(*times, seconds);
  if (!out_) return;
  out_->metrics.write(line);
  out_->bar.line(epoch_text(at.epoch, recipe_.train.epochs, loss, line.accuracy, seconds, rate));
}

// Of the epoch, or of what this process did of it. What is left of the ranks' `seconds` are
// metrics, checkpoints within the epoch, votes.
RankTimes RunReport::rank_times(const StepTimes& times, double seconds) {
  struct Times {
    StepTimes steps;
    double other;
  };
  const Times mine{times, std::max(0.0, seconds - times.total())};
  const std::vector<Times> all = all_gather_value(comm_, mine);
  RankTimes columns;
  const auto add = [&](const char* name, auto value) {
    std::vector<double> values(all.size());
    std::transform(all.begin(), all.end(), values.begin(), value);
    columns.emplace_back(name, std::move(values));
  };
  for (std::size_t phase = 0; phase < StepTimes::kNames.size(); ++phase)
    add(StepTimes::kNames[phase], [phase](const Times& t) { return t.steps.seconds[phase]; });
  add(kOther, [](const Times& t) { return t.other; });
  return columns;
}

void RunReport::rank_losses(const TrainingProgress& at, double loss) {
  std::vector<double> losses;
  const std::vector<double> all = all_gather_value(comm_, loss);
  // Those that compute a loss: the ranks of the last stage, in the order of their samples.
  for (int rank = 0; rank < comm_.size(); ++rank) {
    const GridPlace place = grid_place(grid_.shape(), rank);
    if (place.pipeline + 1 == grid_.shape().pipeline && place.tensor == 0)
      losses.push_back(all[static_cast<std::size_t>(rank)]);
  }
  line(rank_losses_text(losses, epoch_samples_ == at.epoch_samples));
}

void RunReport::evaluation(const TrainingProgress& at, const Evaluation& result) {
  if (!out_) return;
  MetricsLine line = record("eval", at, at.epoch, result.loss, static_cast<double>(result.correct),
                            result.samples);
  line.rmse = result.rmse();
  line.r2 = result.r2();
  out_->metrics.write(line);
  out_->bar.line(evaluation_text(line));
}

// The speed in "step" lines is that of training, without evaluation.
void RunReport::end_epoch() {
  epoch_samples_ = 0;
  samples_since_line_ = 0;
}

void RunReport::restart_speed() {
  since_line_.restart();
}

void RunReport::line(const std::string& text) {
  if (out_) out_->bar.line(text);
}

void RunReport::stopped(const TrainingProgress& at, const std::string& reason,
                        const std::string& text) {
  if (!out_) return;
  is_started_ = false;
  out_->events.stopped(at, reason);
  out_->events.sync();
  out_->bar.line(text);
}

void RunReport::failed(const TrainingProgress& at, const std::string& text) {
  if (!out_) return;
  is_started_ = false;
  out_->bar.finish();
  out_->events.failed(at, text);
  out_->events.sync();
}

void RunReport::failed_unless_ended(const TrainingProgress& at, const std::string& text) {
  if (is_started_) failed(at, text);
}

void RunReport::finish_lines() {
  if (out_) out_->bar.finish();
}

void RunReport::finished(const TrainingProgress& at, const std::string& model_hash) {
  is_started_ = false;
  out_->events.finished(at, model_hash);
  out_->events.sync();
}

MetricsLine RunReport::record(const char* kind, const TrainingProgress& at, std::int64_t epoch,
                              double loss, double correct, std::int64_t samples) const {
  MetricsLine line;
  line.kind = kind;
  line.epoch = epoch;
  line.step = at.step;
  line.loss = loss;
  if (answers_per_sample_ > 0)
    line.accuracy = std::min(1.0, correct / static_cast<double>(samples * answers_per_sample_));
  line.samples = samples;
  line.ranks = comm_.size();
  line.time_s = since_start_.seconds();
  return line;
}

}  // namespace quern
