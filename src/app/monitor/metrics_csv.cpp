// SPDX-License-Identifier: Apache-2.0
#include "app/monitor/metrics_csv.hpp"

#include <fmt/format.h>

namespace quern {

namespace {

template <class T>
std::string cell(const std::optional<T>& value) {
  return value ? fmt::format(",{}", *value) : ",";
}

const RankSummary* times_of(const MetricsLine& line, const std::string& phase) {
  for (const auto& [name, seconds] : line.rank_summaries)
    if (name == phase) return &seconds;
  return nullptr;
}

}  // namespace

std::string metrics_csv(const RunLog& run) {
  std::string text = "kind,epoch,step,loss,accuracy,rmse,r2,lr,samples_per_s,samples,ranks,time_s";
  std::vector<const char*> phases(StepTimes::kNames.begin(), StepTimes::kNames.end());
  phases.push_back(kOther);
  for (const char* phase : phases) text += fmt::format(",{}_s", phase);
  text += ",longest_waiting_s";
  for (const MetricsLine& line : run.metrics) {
    text += fmt::format("\n{},{},{}", line.kind, line.epoch, line.step);
    text += cell(line.loss) + cell(line.accuracy) + cell(line.rmse) + cell(line.r2) +
            cell(line.learning_rate) + cell(line.samples_per_s) + cell(line.samples) +
            cell(line.ranks) + cell(line.time_s);
    for (const char* phase : phases) {
      const RankSummary* seconds = times_of(line, phase);
      text += seconds ? fmt::format(",{}", seconds->mean) : ",";
    }
    const RankSummary* waiting = times_of(line, kWaiting);
    text += waiting ? fmt::format(",{}", waiting->max) : ",";
  }
  return text;
}

}  // namespace quern
