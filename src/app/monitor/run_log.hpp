// SPDX-License-Identifier: Apache-2.0
// A run as its folder tells it, while it trains or later.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "train/metrics_line.hpp"

namespace quern {

/// A line of events.jsonl.
struct EventLine {
  std::string event;
  std::int64_t time = 0;  ///< seconds since 1970, UTC
  std::int64_t step = 0;
  std::int64_t epoch = 0;        ///< whole epochs done
  std::int64_t total_steps = 0;  ///< start
  std::string reason;            ///< stop, failure
  std::string test_data = {};    ///< start: digest of the content
};

struct RunLog {
  std::string name;
  int epochs = 0;            ///< of the recipe
  bool has_metrics = false;  ///< is metrics.jsonl there?
  std::vector<MetricsLine> metrics;
  /// What is kept of lines in front of these (RunLogReader).
  struct Earlier {
    std::vector<std::pair<double, double>> losses = {};  ///< step and loss of steps
    std::vector<MetricsLine> epochs = {};                ///< lines of other kinds
    double longest_gap = 0;                              ///< seconds from one of them to the next
  } earlier = {};
  std::vector<EventLine> events;
  std::int64_t unreadable_lines = 0;  ///< of metrics.jsonl, which a kill may tear
  bool is_done = false;
  std::optional<std::int64_t>
      last_change;  ///< of metrics.jsonl or events.jsonl, seconds since 1970
};

/// Reads a run folder again and again. The lines of metrics.jsonl that it has read it does not read
/// again, and of all but the last thousands it keeps what a view of the whole run needs: a run of
/// weeks has millions.
class RunLogReader {
 public:
  explicit RunLogReader(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// InputError as of read_run_log().
  const RunLog& read();

 private:
  void read_metrics();
  bool is_same_file(std::uint64_t inode) const;
  void keep_little();

  std::filesystem::path folder_;
  RunLog run_;
  // Of metrics.jsonl.
  std::uint64_t inode_ = 0;
  std::int64_t read_to_ = 0;     // the end of the lines that were read
  std::string last_line_;        // of these
  std::int64_t unreadable_ = 0;  // of these
};

/// All lines. InputError when the folder is no run folder, or a file in it cannot be read.
RunLog read_run_log(const std::filesystem::path& folder);

/// How many epochs were done when the run got the test data that it has now: evaluations of these
/// are of others. 0 where it has them from the start, or where the starts do not tell.
std::int64_t epochs_before_test_data(const RunLog& run);

/// Seconds between neighbours of these lines, at most.
double longest_gap(std::span<const MetricsLine> lines);

/// When a line was written, in seconds since 1970: its time_s after the start that it belongs to. 0
/// when there is no such start.
double wall_time(const RunLog& run, const MetricsLine& line);

}  // namespace quern
