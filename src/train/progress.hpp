// SPDX-License-Identifier: Apache-2.0
// Tells a person how far training is: a bar with the remaining time on a terminal; in a log file a
// line where a minute has brought none. Rank 0 only.
#pragma once

#include <cstdint>
#include <string>

#include "base/stopwatch.hpp"

namespace quern {

class Progress {
 public:
  /// Without a terminal: between two lines at the least.
  static constexpr double kLineSeconds = 60;

  /// `speaks`: false on all ranks but 0. `done` of `total` steps were done before.
  Progress(bool speaks, std::int64_t done, std::int64_t total, double line_seconds = kLineSeconds);

  bool has_terminal() const { return terminal_; }

  /// After every step. `text` is made only when it is shown.
  template <class Text>
  void step(std::int64_t done, Text&& text) {
    if (speaks_ && due()) show(done, text());
  }

  /// A line that stays, above the bar. None of the other kind follows soon: short epochs have only
  /// their own.
  void line(const std::string& text);
  /// Removes the bar.
  void finish();

 private:
  bool due();
  void show(std::int64_t done, const std::string& text);

  bool speaks_;
  bool terminal_;
  std::int64_t first_;
  std::int64_t total_;
  double interval_s_;
  bool bar_shown_ = false;
  Stopwatch since_start_;
  Stopwatch since_shown_;
};

/// "1:02:03", "2:03", "3 s"
std::string duration_text(double seconds);

}  // namespace quern
