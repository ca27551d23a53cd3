// SPDX-License-Identifier: Apache-2.0
// A line of metrics.jsonl: one JSON object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "train/rank_summary.hpp"

namespace quern {

/// What a line does not have is empty. A loss may be NaN or infinite.
struct MetricsLine {
  std::string kind;            ///< "step", "epoch" or "eval"
  std::int64_t epoch = 0;      ///< from 1
  std::int64_t step = 0;       ///< steps done
  std::optional<double> loss;  ///< step: of the batch; epoch, eval: mean over its samples
  std::optional<double> accuracy;
  std::optional<double> rmse;  ///< eval: of targets, see Evaluation
  std::optional<double> r2;
  std::optional<double> learning_rate;
  std::optional<double> samples_per_s;
  std::optional<std::int64_t> samples;  ///< that loss and accuracy are over
  std::optional<std::int64_t> ranks;
  std::optional<double> time_s;  ///< since the start of this process's training
  RankTimes rank_times;          ///< epoch: what the seconds of the ranks went to
  RankSummaries rank_summaries;  ///< of these; of kWork, too
};

/// Without the end of line. Of more ranks than kMostListedRanks it has summaries of `rank_times`
/// alone, else those times; `rank_summaries` does not count.
std::string json_text(const MetricsLine& line);

/// The way back; empty where the text is no JSON object. Of a line without times of each rank
/// `rank_summaries` are those that it has.
std::optional<MetricsLine> parse_metrics_line(const std::string& text);

}  // namespace quern
