// SPDX-License-Identifier: Apache-2.0
#include "train/event_log.hpp"

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/version.hpp"
#include "io/pending_file.hpp"

namespace quern {

struct EventLog::Line {
  nlohmann::ordered_json json;

  Line(const char* event, const TrainingProgress& at) {
    json["event"] = event;
    json["time"] = utc_timestamp();
    json["step"] = at.step;
    json["epoch"] = at.epoch;
  }
};

namespace {

// The end of a killed process, or a full disk, may have torn its last line.
bool is_torn(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in.seekg(-1, std::ios::end)) return false;
  return in.get() != '\n';
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

void EventLog::started(const TrainingProgress& at, const TrainingStart& start) {
  Line line("start", at);
  line.json["total_steps"] = start.total_steps;
  line.json["ranks"] = start.hosts.size();
  line.json["threads"] = start.threads;
  auto& ranks_of = line.json["hosts"] = nlohmann::ordered_json::object();
  for (const std::string& host : start.hosts) ranks_of[host] = ranks_of.value(host, 0) + 1;
  line.json["version"] = version();
  line.json["git_commit"] = git_commit();
  if (!start.test_data.empty()) {
    line.json["monitor"] = to_string(start.monitor);
    line.json["test_data"] = start.test_data;
  }
  for (const RecipeChange& change : start.changes)
    line.json["changes"].push_back(
        {{"key", change.key}, {"before", change.before}, {"after", change.after}});
  const std::string job = environment("SLURM_JOB_ID");
  if (!job.empty()) {
    line.json["job"] = job;
    line.json["restarts"] = environment("SLURM_RESTART_COUNT");
  }
  write(line);
}

void EventLog::wrote_checkpoint(const TrainingProgress& at, const std::filesystem::path& file,
                                double seconds) {
  Line line("checkpoint", at);
  line.json["file"] = file.filename().string();
  std::error_code error;
  const auto bytes = std::filesystem::file_size(file, error);
  if (!error) line.json["bytes"] = bytes;
  line.json["seconds"] = seconds;
  write(line);
}

void EventLog::stopped(const TrainingProgress& at, const std::string& reason) {
  Line line("stop", at);
  line.json["reason"] = reason;
  write(line);
}

void EventLog::failed(const TrainingProgress& at, const std::string& text) {
  Line line("failure", at);
  line.json["reason"] = text;
  write(line);
}

void EventLog::finished(const TrainingProgress& at, const std::string& model_hash) {
  Line line("done", at);
  line.json["model"] = model_hash;
  write(line);
}

void EventLog::write(const Line& line) {
  const bool torn = is_torn(path_);
  std::ofstream stream(path_, std::ios::app);
  if (torn) stream << '\n';
  // Texts of the system may be of any encoding.
  stream << line.json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  stream.close();
  if (!stream) warn_once("cannot write '" + path_.string() + "'");
}

void EventLog::sync() {
  try {
    sync_path(path_);
    sync_path(path_.parent_path());  // its name, which the first line has made
  } catch (const Error& problem) {
    warn_once(problem.what());
  }
}

void EventLog::warn_once(const std::string& problem) {
  if (std::exchange(has_failed_, true)) return;
  log::warn(problem + ": events of this run are missing there");
}

}  // namespace quern
