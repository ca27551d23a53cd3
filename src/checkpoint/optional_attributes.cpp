// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/optional_attributes.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"
#include "spec/words.hpp"

namespace quern {

namespace {

constexpr const char* kGroup = "/train";
constexpr const char* kNames = "class_names";
constexpr const char* kFeatures = "feature_names";
constexpr const char* kInput = "input";
constexpr const char* kBestMonitor = "best_monitor";
constexpr const char* kBestEpoch = "best_epoch";
constexpr const char* kBestStep = "best_step";
constexpr const char* kBestValue = "best_value";
constexpr const char* kBestData = "best_data_sha256";
constexpr const char* kBestSince = "best_since";
constexpr const char* kPlateaus = "plateaus";
constexpr const char* kPlateauEpoch = "plateau_epoch";
constexpr const char* kChanges = "changes";
constexpr const char* kStartedFrom = "started_from";

Monitor monitor_of(const std::string& name) {
  std::vector<std::string> words;
  for (const auto& [word, monitor] : words_of<Monitor>()) {
    if (word == name) return monitor;
    words.push_back("'" + word + "'");
  }
  throw Error(fmt::format("{} is '{}', expected {}", kBestMonitor, printable_start(name),
                          fmt::join(words, " or ")));
}

// What was looked for is known also where no evaluation was finite yet.
void write_best(H5File& file, const BestEvaluation& best, const std::string& data) {
  if (best.epoch == 0 && data.empty()) return;
  file.write_string(kGroup, kBestMonitor, to_string(best.monitor));
  file.write_string(kGroup, kBestData, data);
  if (best.epoch == 0) {
    file.write_int64(kGroup, kBestSince, best.since);
    return;
  }
  file.write_int64(kGroup, kBestEpoch, best.epoch);
  file.write_int64(kGroup, kBestStep, best.step);
  file.write_double(kGroup, kBestValue, best.value);
}

BestEvaluation read_none_yet(const H5File& file, const TrainingProgress& progress) {
  const BestEvaluation none{.monitor = monitor_of(file.read_string(kGroup, kBestMonitor)),
                            .since = file.read_int64(kGroup, kBestSince)};
  if (none.since >= 0 && none.since <= progress.epoch) return none;
  throw Error(fmt::format("{} is {}, expected 0 to the {} epochs that are done", kBestSince,
                          none.since, progress.epoch));
}

BestEvaluation read_best(const H5File& file, const TrainingProgress& progress) {
  if (!file.has_attribute(kGroup, kBestEpoch)) return read_none_yet(file, progress);
  const BestEvaluation best{.monitor = monitor_of(file.read_string(kGroup, kBestMonitor)),
                            .epoch = file.read_int64(kGroup, kBestEpoch),
                            .step = file.read_int64(kGroup, kBestStep),
                            .value = file.read_double(kGroup, kBestValue)};
  const bool is_past = best.epoch >= 1 && best.epoch <= progress.epoch && best.step >= 0 &&
                       best.step <= progress.step;
  if (is_past && std::isfinite(best.value)) return best;
  throw Error(fmt::format(
      "the best evaluation is {} at step {}, epoch {}, expected a finite number of the {} epochs "
      "and {} steps that are done",
      best.value, best.step, best.epoch, progress.epoch, progress.step));
}

void write_plateaus(H5File& file, const TrainingProgress& progress) {
  if (progress.plateaus == 0) return;
  file.write_int64(kGroup, kPlateaus, progress.plateaus);
  file.write_int64(kGroup, kPlateauEpoch, progress.plateau_epoch);
}

void read_plateaus(const H5File& file, TrainingProgress& progress) {
  if (!file.has_attribute(kGroup, kPlateaus)) return;
  progress.plateaus = file.read_int64(kGroup, kPlateaus);
  progress.plateau_epoch = file.read_int64(kGroup, kPlateauEpoch);
  // Each comes after an epoch of its own.
  if (progress.plateaus >= 1 && progress.plateaus <= progress.plateau_epoch &&
      progress.plateau_epoch <= progress.epoch)
    return;
  throw Error(
      fmt::format("{} is {}, the last after epoch {}, expected at most one for each of the "
                  "{} epochs that are done",
                  kPlateaus, progress.plateaus, progress.plateau_epoch, progress.epoch));
}

// Values are TOML in one line, which has no tabs of its own.
std::string text_of(const RecipeChange& change) {
  return fmt::format("{}\t{}\t{}\t{}", change.step, change.key, change.before, change.after);
}

RecipeChange change_of(const std::string& line, const TrainingProgress& progress) {
  std::vector<std::string> words(1);
  for (const char letter : line) {
    if (letter == '\t')
      words.emplace_back();
    else
      words.back() += letter;
  }
  std::int64_t step = -1;
  const std::string& number = words.front();
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), step);
  const bool is_number = error == std::errc() && end == number.data() + number.size();
  if (words.size() == 4 && is_number && step >= 0 && step <= progress.step)
    return {step, words[1], words[2], words[3]};
  throw Error(
      fmt::format("the change '{}' is none, expected a step of the {} that are done, a key, its "
                  "value before and after, with tabs between them",
                  printable_start(line), progress.step));
}

void write_changes(H5File& file, const std::vector<RecipeChange>& changes) {
  std::vector<std::string> lines;
  for (const RecipeChange& change : changes) lines.push_back(text_of(change));
  if (!lines.empty()) file.write_string(kGroup, kChanges, join_lines(lines));
}

void read_changes(const H5File& file, CheckpointState& state) {
  state.changes.clear();
  if (!file.has_attribute(kGroup, kChanges)) return;
  for (const std::string& line : split_lines(file.read_string(kGroup, kChanges)))
    state.changes.push_back(change_of(line, state.progress));
}

}  // namespace

void write_optional_attributes(H5File& file, const CheckpointState& state) {
  if (!state.class_names.empty()) file.write_string(kGroup, kNames, join_lines(state.class_names));
  if (!state.feature_names.empty())
    file.write_string(kGroup, kFeatures, join_lines(state.feature_names));
  if (!state.input.empty()) file.write_string(kGroup, kInput, state.input);
  write_changes(file, state.changes);
  if (!state.started_from.empty()) file.write_string(kGroup, kStartedFrom, state.started_from);
  write_plateaus(file, state.progress);
  write_best(file, state.best, state.best_data);
}

void read_optional_attributes(const H5File& file, CheckpointState& state) {
  state.class_names.clear();
  state.feature_names.clear();
  state.input.clear();
  state.started_from.clear();
  state.best = {};
  state.best_data.clear();
  // Earlier programs took names of shards as they were, in any encoding.
  if (file.has_attribute(kGroup, kNames))
    state.class_names = split_lines(as_utf8(file.read_string(kGroup, kNames)));
  if (file.has_attribute(kGroup, kFeatures))
    state.feature_names = split_lines(as_utf8(file.read_string(kGroup, kFeatures)));
  if (file.has_attribute(kGroup, kInput)) state.input = file.read_string(kGroup, kInput);
  if (file.has_attribute(kGroup, kStartedFrom))
    state.started_from = file.read_string(kGroup, kStartedFrom);
  read_plateaus(file, state.progress);
  read_changes(file, state);
  if (!file.has_attribute(kGroup, kBestMonitor)) return;
  state.best = read_best(file, state.progress);
  state.best_data = file.read_string(kGroup, kBestData);
}

}  // namespace quern
