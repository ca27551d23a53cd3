// SPDX-License-Identifier: Apache-2.0
#include "app/monitor/run_log.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "config/read_recipe.hpp"
#include "io/folder_files.hpp"
#include "train/json_line.hpp"

namespace quern {

namespace {

namespace fs = std::filesystem;

bool is_blank(const std::string& text) {
  return text.find_first_not_of(" \t\r") == std::string::npos;
}

/// Calls take(line) for each line of a file that is not blank, where there is one; it says whether
/// it could read it. A million objects at once would need a gigabyte. -> how many it could not.
template <class Take>
std::int64_t for_each_line(const fs::path& file, const Take& take) {
  std::error_code error;
  if (!fs::exists(file, error)) return 0;
  std::ifstream in(file);
  if (!in) throw InputError("cannot read '" + file.string() + "'");
  std::int64_t unreadable = 0;
  for (std::string text; std::getline(in, text);)
    if (!is_blank(text) && !take(text)) unreadable += 1;
  return unreadable;
}

std::int64_t seconds_of(const std::string& utc) {
  std::tm time{};
  if (!strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%S", &time)) return 0;
  return timegm(&time);
}

EventLine event_line(const nlohmann::json& json) {
  EventLine line;
  line.event = word_of(json, "event");
  line.time = seconds_of(word_of(json, "time"));
  line.step = integer_of(json, "step").value_or(0);
  line.epoch = integer_of(json, "epoch").value_or(0);
  line.total_steps = integer_of(json, "total_steps").value_or(0);
  line.reason = word_of(json, "reason");
  line.test_data = word_of(json, "test_data");
  return line;
}

std::optional<std::int64_t> changed(const fs::path& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return std::nullopt;
  return status.st_mtime;
}

}  // namespace

static RunLog read_all_but_metrics(const fs::path& folder) {
  const std::string name = "'" + folder.string() + "'";
  const fs::file_status status = status_of(folder);
  if (!fs::is_directory(status))
    throw InputError(name + (fs::exists(status) ? " is no folder" : " does not exist") +
                     " (expected a run folder)");
  if (!fs::exists(folder / "recipe.toml"))
    throw InputError(name + " is no run folder: it has no recipe.toml");
  RunLog run;
  const Recipe recipe = read_recipe(folder / "recipe.toml");
  run.name = recipe.name;
  run.epochs = recipe.train.epochs;
  run.has_metrics = fs::exists(folder / "metrics.jsonl");
  for_each_line(folder / "events.jsonl", [&](const std::string& text) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (json.is_object()) run.events.push_back(event_line(json));
    return json.is_object();
  });
  run.is_done = fs::exists(folder / "DONE");
  for (const char* file : {"metrics.jsonl", "events.jsonl"}) {
    const auto time = changed(folder / file);
    if (time && (!run.last_change || *time > *run.last_change)) run.last_change = time;
  }
  return run;
}

RunLog read_run_log(const fs::path& folder) {
  RunLog run = read_all_but_metrics(folder);
  run.unreadable_lines = for_each_line(folder / "metrics.jsonl", [&](const std::string& text) {
    const auto line = parse_metrics_line(text);
    if (line) run.metrics.push_back(*line);
    return line.has_value();
  });
  return run;
}

const RunLog& RunLogReader::read() {
  RunLog run = read_all_but_metrics(folder_);
  run.metrics = std::move(run_.metrics);
  run.earlier = std::move(run_.earlier);
  run_ = std::move(run);
  read_metrics();
  return run_;
}

void RunLogReader::read_metrics() {
  const fs::path file = folder_ / "metrics.jsonl";
  struct stat status {};
  const bool exists = stat(file.c_str(), &status) == 0;
  if (!exists || !is_same_file(status.st_ino)) {
    inode_ = status.st_ino;
    read_to_ = 0;
    last_line_.clear();
    unreadable_ = 0;
    run_.metrics.clear();
    run_.earlier = {};
  }
  if (!exists) return;
  std::ifstream in(file);
  if (!in) throw InputError("cannot read '" + file.string() + "'");
  in.seekg(read_to_);
  run_.unreadable_lines = unreadable_;
  for (std::string text; std::getline(in, text);) {
    const bool is_ended = !in.eof();
    const auto line = parse_metrics_line(text);
    const bool is_read = is_blank(text) || line;
    if (!is_read) run_.unreadable_lines += 1;
    if (!is_read && !is_ended) break;  // it may be being written
    if (line) run_.metrics.push_back(*line);
    keep_little();
    read_to_ += static_cast<std::int64_t>(text.size()) + is_ended;
    last_line_ = std::move(text);
    unreadable_ = run_.unreadable_lines;
  }
}

// A run that goes on from a checkpoint cuts lines off and writes others.
bool RunLogReader::is_same_file(std::uint64_t inode) const {
  if (inode != inode_) return false;
  const auto length = static_cast<std::int64_t>(last_line_.size());
  std::ifstream in(folder_ / "metrics.jsonl");
  // Its end of line was perhaps not there yet.
  for (const std::int64_t begin : {read_to_ - length - 1, read_to_ - length}) {
    std::string line;
    in.clear();
    in.seekg(std::max<std::int64_t>(0, begin));
    if (std::getline(in, line) && line == last_line_) return true;
  }
  return read_to_ == 0;
}

void RunLogReader::keep_little() {
  constexpr std::size_t kLast = 1000;
  std::vector<MetricsLine>& lines = run_.metrics;
  if (lines.size() < 2 * kLast) return;
  RunLog::Earlier& earlier = run_.earlier;
  earlier.longest_gap =
      std::max(earlier.longest_gap, longest_gap(std::span(lines).first(kLast + 1)));
  for (MetricsLine& line : std::span(lines).first(kLast)) {
    if (line.kind != "step")
      earlier.epochs.push_back(std::move(line));
    else if (line.loss)
      earlier.losses.emplace_back(static_cast<double>(line.step), *line.loss);
  }
  lines.erase(lines.begin(), lines.begin() + kLast);
}

double longest_gap(std::span<const MetricsLine> lines) {
  double gap = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const double step = lines[i].time_s.value_or(0) - lines[i - 1].time_s.value_or(0);
    if (std::isfinite(step)) gap = std::max(gap, step);
  }
  return gap;
}

std::int64_t epochs_before_test_data(const RunLog& run) {
  const EventLine* first = nullptr;
  for (auto event = run.events.rbegin(); event != run.events.rend(); ++event) {
    if (event->event != "start" || event->test_data.empty()) continue;
    // What a later start from there trained again is not of the run.
    if (first && event->step >= first->step) continue;
    if (first && event->test_data != first->test_data) return first->epoch;
    first = &*event;
  }
  return 0;
}

double wall_time(const RunLog& run, const MetricsLine& line) {
  double begin = 0;
  for (const EventLine& event : run.events)
    if (event.event == "start" && event.step <= line.step) begin = static_cast<double>(event.time);
  return begin == 0 ? 0 : begin + line.time_s.value_or(0);
}

}  // namespace quern
