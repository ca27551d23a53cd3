// SPDX-License-Identifier: Apache-2.0
// metrics.jsonl: one JSON object a line, appended and flushed, by rank 0.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>

#include "train/rank_summary.hpp"

namespace quern {

struct MetricsRecord {
  std::string kind;        ///< "step", "epoch" or "eval"
  std::int64_t epoch = 0;  ///< from 1
  std::int64_t step = 0;   ///< steps done
  double loss = 0;         ///< step: of the batch; epoch, eval: mean over its samples
  std::optional<double> accuracy;
  std::optional<double> rmse;  ///< eval: of targets, see Evaluation
  std::optional<double> r2;
  std::optional<double> learning_rate;
  std::optional<double> samples_per_s;
  std::int64_t samples = 0;  ///< that loss and accuracy are over
  int ranks = 1;
  double time_s = 0;  ///< since the start of this process's training
  /// epoch: what the seconds of the ranks went to; left out when empty, and summarized where there
  /// are more than kMostListedRanks
  RankTimes rank_times;
};

class MetricsLog {
 public:
  /// Appends to `file` after so many steps and epochs. What a killed run wrote there about later
  /// ones is dropped, because they are done again, with `check` just before. InputError when it
  /// cannot be read or written.
  MetricsLog(const std::filesystem::path& file, std::int64_t steps, std::int64_t epochs,
             const std::function<void()>& check = {});
  /// Throws Error when the line cannot be written.
  void write(const MetricsRecord& record);
  /// Forces the lines to the disk. Throws Error when it fails. A file that somebody has removed is
  /// no reason to end a training.
  void sync() const;

 private:
  std::filesystem::path path_;
  std::ofstream stream_;
};

}  // namespace quern
