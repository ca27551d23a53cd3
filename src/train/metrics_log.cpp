// SPDX-License-Identifier: Apache-2.0
#include "train/metrics_log.hpp"

#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.hpp"
#include "base/system_failure.hpp"
#include "io/lines_from_end.hpp"
#include "io/output_file.hpp"

namespace quern {

namespace {

// JSON has no NaN and no infinity.
nlohmann::ordered_json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : (value > 0 ? "inf" : "-inf");
}

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

std::int64_t integer(const nlohmann::ordered_json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

// An epoch's summary follows its last step, and perhaps the checkpoint of that step.
bool is_later(const nlohmann::ordered_json& line, std::int64_t steps, std::int64_t epochs) {
  if (integer(line, "step") > steps) return true;
  const auto kind = line.find("kind");
  return kind != line.end() && *kind != "step" && integer(line, "epoch") > epochs;
}

// Of the file the bytes in front of `at`, and then `behind`.
void keep_before(const std::filesystem::path& file, std::int64_t at, const std::string& behind,
                 const std::function<void()>& check) {
  if (behind.empty()) {
    if (check) check();
    shorten_file(file, at);
    return;
  }
  std::string kept(static_cast<std::size_t>(at), '\0');
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in.read(kept.data(), at)) throw_read_failure(errno, "cannot read '" + file.string() + "'");
  in.close();
  write_whole_file(file, kept + behind, check);
}

// Steps never get smaller from line to line, so nothing in front of an earlier one is later: of a
// long file the end alone is read.
void drop_later_lines(const std::filesystem::path& file, std::int64_t steps, std::int64_t epochs,
                      const std::function<void()>& check) {
  LinesFromEnd lines(file);
  std::string kept;                // of what was read
  std::string behind;              // of what was read behind the first line that is dropped
  std::optional<std::int64_t> at;  // where that one begins
  while (const auto text = lines.next()) {
    // What is no JSON, or has no end, was torn by the end of its run.
    const auto line = nlohmann::ordered_json::parse(text->text, nullptr, false);
    if (!text->is_ended || !line.is_object() || is_later(line, steps, epochs)) {
      at = text->begin;
      behind = kept;
      continue;
    }
    kept.insert(0, text->text + '\n');
    if (line.contains("step") && integer(line, "step") < steps) break;
  }
  if (at) keep_before(file, *at, behind, check);
}

}  // namespace

MetricsLog::MetricsLog(const std::filesystem::path& file, std::int64_t steps, std::int64_t epochs,
                       const std::function<void()>& check)
    : path_(file) {
  drop_later_lines(file, steps, epochs, check);
  errno = 0;
  stream_.open(file, std::ios::app);
  if (!stream_) throw_write_failure("cannot write '" + file.string() + "'", errno);
}

void MetricsLog::write(const MetricsRecord& record) {
  nlohmann::ordered_json line;
  line["kind"] = record.kind;
  line["epoch"] = record.epoch;
  line["step"] = record.step;
  line["loss"] = number(record.loss);
  if (record.accuracy) line["accuracy"] = number(*record.accuracy);
  if (record.rmse) line["rmse"] = number(*record.rmse);
  if (record.r2) line["r2"] = number(*record.r2);
  if (record.learning_rate) line["lr"] = number(*record.learning_rate);
  if (record.samples_per_s) line["samples_per_s"] = number(*record.samples_per_s);
  line["samples"] = record.samples;
  line["ranks"] = record.ranks;
  line["time_s"] = number(record.time_s);
  const RankTimes& times = record.rank_times;
  if (!times.empty() && times.front().second.size() > kMostListedRanks) {
    add_rank_summaries(summarize_rank_times(times), line);
  } else {
    add_rank_times(times, line);
  }
  stream_ << line.dump() << '\n' << std::flush;
  if (!stream_) throw Error("cannot write '" + path_.string() + "' (is the disk full?)");
}

void MetricsLog::sync() const {
  std::error_code unreadable;
  if (std::filesystem::exists(path_, unreadable) || unreadable) sync_path(path_);
}

}  // namespace quern
