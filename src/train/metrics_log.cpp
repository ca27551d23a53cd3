// SPDX-License-Identifier: Apache-2.0
#include "train/metrics_log.hpp"

#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.hpp"
#include "base/system_failure.hpp"
#include "io/lines_from_end.hpp"
#include "io/output_file.hpp"
#include "train/json_line.hpp"

namespace quern {

namespace {

// An epoch's summary follows its last step, and perhaps the checkpoint of that step.
bool is_later(const nlohmann::json& line, std::int64_t steps, std::int64_t epochs) {
  if (integer_of(line, "step").value_or(0) > steps) return true;
  const auto kind = line.find("kind");
  return kind != line.end() && *kind != "step" && integer_of(line, "epoch").value_or(0) > epochs;
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
    const auto line = nlohmann::json::parse(text->text, nullptr, false);
    if (!text->is_ended || !line.is_object() || is_later(line, steps, epochs)) {
      at = text->begin;
      behind = kept;
      continue;
    }
    kept.insert(0, text->text + '\n');
    if (line.contains("step") && integer_of(line, "step").value_or(0) < steps) break;
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

void MetricsLog::write(const MetricsLine& line) {
  stream_ << json_text(line) << '\n' << std::flush;
  if (!stream_) throw Error("cannot write '" + path_.string() + "' (is the disk full?)");
}

void MetricsLog::sync() const {
  std::error_code unreadable;
  if (std::filesystem::exists(path_, unreadable) || unreadable) sync_path(path_);
}

}  // namespace quern
