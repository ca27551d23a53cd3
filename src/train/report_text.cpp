// SPDX-License-Identifier: Apache-2.0
#include "train/report_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/count_text.hpp"
#include "base/text.hpp"

namespace quern {

namespace {

// The sign of what is not a number says nothing, and differs between processors.
double without_sign_of_nan(double loss) {
  return std::isnan(loss) ? std::fabs(loss) : loss;
}

std::string accuracy_text(std::optional<double> accuracy) {
  return accuracy ? fmt::format("  accuracy {:5.2f} %", 100 * *accuracy) : "";
}

std::string checkpoint_text(std::int64_t last_checkpoint) {
  return last_checkpoint < 0
             ? "no checkpoint was written yet"
             : fmt::format("the checkpoint of step {} is untouched", last_checkpoint);
}

std::string value_text(const BestEvaluation& best) {
  return best.monitor == Monitor::loss ? "test loss " + decimal_text(best.value, 4)
                                       : fmt::format("test accuracy {:.2f} %", 100 * best.value);
}

std::string nothing_better_text(Monitor monitor, int epochs) {
  return fmt::format("no {} for {}",
                     monitor == Monitor::loss ? "lower test loss" : "higher test accuracy",
                     count_text(epochs, "epoch"));
}

// A run that has a checkpoint goes on with other settings; one that has none is another run.
std::string hint(std::int64_t last_checkpoint) {
  return std::string("A smaller optimizer.lr or optimizer.clip_norm may help: ") +
         (last_checkpoint >= 0
              ? "--change KEY=VALUE goes on from there with it"
              : "to begin anew with it, take another --run-dir or remove this one");
}

}  // namespace

std::string epoch_text(std::int64_t epoch, std::int64_t epochs, double loss,
                       std::optional<double> accuracy, double seconds, double samples_per_s) {
  return fmt::format("epoch {}/{}  loss {}{}  {:.2f} s  {:.0f} samples/s", epoch, epochs,
                     decimal_text(loss, 4), accuracy_text(accuracy), seconds, samples_per_s);
}

std::string evaluation_text(const MetricsLine& line) {
  std::string text = fmt::format("           test loss {}{}",
                                 decimal_text(without_sign_of_nan(line.loss.value_or(0)), 4),
                                 accuracy_text(line.accuracy));
  if (line.rmse) text += "  rmse " + decimal_text(*line.rmse, 4);
  if (line.r2) text += "  r2 " + decimal_text(*line.r2, 4);
  return text + fmt::format("  ({} samples)", line.samples.value_or(0));
}

std::string patience_text(Monitor monitor, int patience) {
  return fmt::format("           {} (train.patience): the training ends",
                     nothing_better_text(monitor, patience));
}

std::string plateau_text(Monitor monitor, int patience, double before, double after) {
  return fmt::format("           {}: the learning rate falls from {:.6g} to {:.6g}",
                     nothing_better_text(monitor, patience), before, after);
}

std::string best_text(const BestEvaluation& best, const std::string& file) {
  return fmt::format("           best: epoch {}, {} ('{}')", best.epoch, value_text(best), file);
}

std::string missing_best_text(const BestEvaluation& best) {
  return fmt::format(
      "the checkpoint of the best evaluation, epoch {} with {}, is not in the run folder: best.h5 "
      "will be that of the next better one",
      best.epoch, value_text(best));
}

std::string long_checkpoint_text(const CheckpointSpec& when, std::int64_t step, double seconds,
                                 double between) {
  constexpr double kShort = 1;  // second
  constexpr double kMostShare = 0.05;
  const double share = seconds / (seconds + between);
  if (seconds < kShort || share <= kMostShare) return "";
  std::vector<std::string> remedies;
  if (when.every_epochs > 0)
    remedies.push_back(fmt::format("checkpoint.every_epochs above {}", when.every_epochs));
  if (when.every_steps > 0)
    remedies.push_back(fmt::format("checkpoint.every_steps above {}", when.every_steps));
  if (when.every_seconds > 0)
    remedies.push_back(
        fmt::format("checkpoint.every_seconds from {:.0f} on", std::ceil(seconds / kMostShare)));
  if (when.keep_best) remedies.emplace_back("checkpoint.keep_best = false");
  return fmt::format(
      "to write the checkpoint of step {} took {:.1f} s, in which all ranks wait: {:.0f} % of the "
      "time since the one before (expected {:.0f} % at most: {})",
      step, seconds, 100 * share, 100 * kMostShare, fmt::join(remedies, ", "));
}

std::string bar_text(std::int64_t epoch, std::int64_t epochs, double loss,
                     std::optional<double> samples_per_s) {
  return fmt::format("epoch {}/{}  loss {}{}", epoch, epochs, decimal_text(loss, 4),
                     samples_per_s ? fmt::format("  {:.0f} samples/s", *samples_per_s) : "");
}

std::string rank_losses_text(const std::vector<double>& losses, bool of_whole_epoch) {
  std::string text;
  for (std::size_t rank = 0; rank < losses.size(); ++rank) {
    text += fmt::format("{}  rank {}: sum of batch losses {:.4f}{}", rank > 0 ? "\n" : "", rank,
                        losses[rank], of_whole_epoch ? "" : " since the run was resumed");
  }
  return text;
}

std::string divergence_text(std::int64_t step, std::int64_t epoch, double loss,
                            const std::string& layer, const std::string& place,
                            std::int64_t last_checkpoint, double large_input) {
  const std::string where = layer.empty()
                                ? "the loss itself overflows"
                                : fmt::format("layer '{}'{} is the first to put out such values",
                                              layer, place.empty() ? "" : " (" + place + ")");
  return fmt::format(
      "training diverged at step {} (epoch {}): the loss is {}, expected a finite number; {}; {}. "
      "{}{}",
      step, epoch, without_sign_of_nan(loss), where, checkpoint_text(last_checkpoint),
      hint(last_checkpoint),
      large_input > 0 ? fmt::format("; and inputs reach {:.6g} in size: data.normalize = "
                                    "\"dataset\" helps a new run",
                                    large_input)
                      : "");
}

std::string large_input_text(double large_input) {
  return fmt::format(
      "inputs reach {:.6g} in size: networks learn better from numbers near 0 and 1 "
      "(data.normalize = \"dataset\" makes them so)",
      large_input);
}

std::string bad_weights_text(std::int64_t step, std::int64_t last_checkpoint) {
  return fmt::format(
      "training diverged by step {}: weights or optimizer state are not finite, so no checkpoint "
      "of "
      "them is written; {}. {}",
      step, checkpoint_text(last_checkpoint), hint(last_checkpoint));
}

std::string bad_samples_text(const std::string& problem, std::int64_t step,
                             const std::string& resuming_command) {
  return fmt::format(
      "{}; stopped at step {}, where a checkpoint is written: once the file is as it was, {} "
      "resumes",
      problem, step, resuming_command);
}

}  // namespace quern
