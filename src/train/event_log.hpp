// SPDX-License-Identifier: Apache-2.0
// events.jsonl: what happened to a run, one JSON object a line, by rank 0.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint_state.hpp"
#include "spec/training_progress.hpp"

namespace quern {

/// What a process begins to train with.
struct TrainingStart {
  std::int64_t total_steps = 0;            ///< at the end of the last epoch
  std::vector<std::string> hosts = {};     ///< of every rank, in rank order
  int threads = 1;                         ///< of rank 0
  std::vector<RecipeChange> changes = {};  ///< to the checkpoint that it resumes from
  Monitor monitor = Monitor::loss;         ///< says which evaluation is the best
  std::string test_data = {};              ///< digest of the content; "" without a test set
};

/// Appends to the file and never takes a line back: steps that are done again after a kill have
/// happened twice. Lines that cannot be written are reported once, and the run goes on without. The
/// file is opened for each: what hindered one may be over for the next.
class EventLog {
 public:
  explicit EventLog(std::filesystem::path file) : path_(std::move(file)) {}

  void started(const TrainingProgress& at, const TrainingStart& start);
  /// `seconds`: of rank 0, until the file was on the disk.
  void wrote_checkpoint(const TrainingProgress& at, const std::filesystem::path& file,
                        double seconds);
  void stopped(const TrainingProgress& at, const std::string& reason);
  /// A failure of which all ranks know.
  void failed(const TrainingProgress& at, const std::string& text);
  void finished(const TrainingProgress& at, const std::string& model_hash);
  /// Forces the lines to the disk.
  void sync();

 private:
  struct Line;
  void write(const Line& line);
  void warn_once(const std::string& problem);

  std::filesystem::path path_;
  bool has_failed_ = false;
};

}  // namespace quern
