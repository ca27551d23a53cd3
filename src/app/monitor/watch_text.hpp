// SPDX-License-Identifier: Apache-2.0
// What `quern watch` shows of a run.
#pragma once

#include <cstdint>
#include <string>

#include "app/monitor/run_log.hpp"
#include "app/monitor/text_plot.hpp"

namespace quern {

enum class RunState { begins, runs, silent, stopped, failed, finished };

/// `now`: seconds since 1970. A run whose files have not changed for long is silent: it was killed,
/// or hangs.
RunState run_state(const RunLog& run, std::int64_t now);

/// Will nothing change any more until somebody starts the run again?
inline bool has_ended(RunState state) {
  return state == RunState::stopped || state == RunState::failed || state == RunState::finished;
}

/// Seconds until the last epoch ends, at the speed of the last records; nothing when unknown.
std::optional<double> seconds_left(const RunLog& run);

/// All lines.
std::string watch_text(const RunLog& run, std::int64_t now, const TextPlot& size);

}  // namespace quern
