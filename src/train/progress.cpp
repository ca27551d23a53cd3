// SPDX-License-Identifier: Apache-2.0
#include "train/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "base/log.hpp"

namespace quern {

namespace {
constexpr double kBarSeconds = 0.1;
constexpr int kBarWidth = 28;
}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(std::max(0.0, seconds)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

Progress::Progress(bool speaks, std::int64_t done, std::int64_t total, double line_seconds)
    : speaks_(speaks),
      terminal_(speaks && isatty(STDERR_FILENO) != 0),
      first_(done),
      total_(total),
      interval_s_(terminal_ ? kBarSeconds : line_seconds) {}

bool Progress::due() {
  return since_shown_.seconds() >= interval_s_;
}

void Progress::show(std::int64_t done, const std::string& text) {
  since_shown_.restart();
  const double elapsed = since_start_.seconds();
  const double per_step = elapsed / static_cast<double>(std::max<std::int64_t>(1, done - first_));
  const std::string left = duration_text(per_step * static_cast<double>(total_ - done));
  const double share = static_cast<double>(done) / static_cast<double>(total_);
  if (!terminal_) {
    log::info(
        fmt::format("step {}/{} ({:.0f} %), {}, {} left", done, total_, 100 * share, text, left));
    return;
  }
  const auto filled = static_cast<int>(share * kBarWidth);
  std::string bar;
  for (int i = 0; i < kBarWidth; ++i) bar += i < filled ? "█" : "░";
  std::cerr << fmt::format("\r\033[K{} {:3.0f} %  {}  {} left", bar, 100 * share, text, left)
            << std::flush;
  bar_shown_ = true;
}

void Progress::line(const std::string& text) {
  finish();
  log::note(text);
  if (!terminal_) since_shown_.restart();
}

void Progress::finish() {
  if (bar_shown_) std::cerr << "\r\033[K" << std::flush;
  bar_shown_ = false;
}

}  // namespace quern
