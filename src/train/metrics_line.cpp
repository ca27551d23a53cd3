// SPDX-License-Identifier: Apache-2.0
#include "train/metrics_line.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "train/json_line.hpp"

namespace quern {

namespace {

// More digits would make long lines longer, and say nothing.
double microseconds(double seconds) {
  return std::round(seconds * 1e6) / 1e6;
}

void add_rank_times(const RankTimes& times, nlohmann::ordered_json& line) {
  for (const auto& [phase, seconds] : times) {
    auto& all = line["rank_times_s"][phase] = nlohmann::ordered_json::array();
    for (const double value : seconds) all.push_back(microseconds(value));
  }
}

void add_rank_summaries(const RankSummaries& summaries, nlohmann::ordered_json& line) {
  for (const auto& [phase, of] : summaries) {
    line["rank_summary_s"][phase] = {
        {"min", microseconds(of.min)},   {"median", microseconds(of.median)},
        {"mean", microseconds(of.mean)}, {"max", microseconds(of.max)},
        {"rank_of_min", of.rank_of_min}, {"rank_of_max", of.rank_of_max}};
  }
}

RankTimes rank_times(const nlohmann::json& json) {
  RankTimes times;
  const auto found = json.find("rank_times_s");
  if (found == json.end() || !found->is_object()) return times;
  for (const auto& [phase, seconds] : found->items()) {
    std::vector<double> values;
    for (const nlohmann::json& value : seconds)
      if (value.is_number()) values.push_back(value.get<double>());
    if (!values.empty()) times.emplace_back(phase, std::move(values));
  }
  return times;
}

RankSummaries rank_summaries(const nlohmann::json& json) {
  RankSummaries summaries;
  const auto found = json.find("rank_summary_s");
  if (found == json.end() || !found->is_object()) return summaries;
  for (const auto& [phase, of] : found->items()) {
    if (!of.is_object()) continue;
    summaries.emplace_back(
        phase, RankSummary{real_of(of, "min").value_or(0), real_of(of, "median").value_or(0),
                           real_of(of, "mean").value_or(0), real_of(of, "max").value_or(0),
                           integer_of(of, "rank_of_min").value_or(0),
                           integer_of(of, "rank_of_max").value_or(0)});
  }
  return summaries;
}

}  // namespace

std::string json_text(const MetricsLine& line) {
  nlohmann::ordered_json json;
  json["kind"] = line.kind;
  json["epoch"] = line.epoch;
  json["step"] = line.step;
  if (line.loss) json["loss"] = json_number(*line.loss);
  if (line.accuracy) json["accuracy"] = json_number(*line.accuracy);
  if (line.rmse) json["rmse"] = json_number(*line.rmse);
  if (line.r2) json["r2"] = json_number(*line.r2);
  if (line.learning_rate) json["lr"] = json_number(*line.learning_rate);
  if (line.samples_per_s) json["samples_per_s"] = json_number(*line.samples_per_s);
  if (line.samples) json["samples"] = *line.samples;
  if (line.ranks) json["ranks"] = *line.ranks;
  if (line.time_s) json["time_s"] = json_number(*line.time_s);
  const RankTimes& times = line.rank_times;
  if (!times.empty() && times.front().second.size() > kMostListedRanks) {
    add_rank_summaries(summarize_rank_times(times), json);
  } else {
    add_rank_times(times, json);
  }
  return json.dump();
}

std::optional<MetricsLine> parse_metrics_line(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  MetricsLine line;
  line.kind = word_of(json, "kind");
  line.epoch = integer_of(json, "epoch").value_or(0);
  line.step = integer_of(json, "step").value_or(0);
  line.loss = real_of(json, "loss");
  line.accuracy = real_of(json, "accuracy");
  line.rmse = real_of(json, "rmse");
  line.r2 = real_of(json, "r2");
  line.learning_rate = real_of(json, "lr");
  line.samples_per_s = real_of(json, "samples_per_s");
  line.samples = integer_of(json, "samples");
  line.ranks = integer_of(json, "ranks");
  line.time_s = real_of(json, "time_s");
  line.rank_times = rank_times(json);
  line.rank_summaries =
      line.rank_times.empty() ? rank_summaries(json) : summarize_rank_times(line.rank_times);
  return line;
}

}  // namespace quern
