// SPDX-License-Identifier: Apache-2.0
#include "app/monitor/watch_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "base/count_text.hpp"
#include "base/text.hpp"
#include "base/unit_text.hpp"
#include "train/progress.hpp"

namespace quern {

namespace {

constexpr int kRecent = 20;            // records that the speed is taken from
constexpr std::int64_t kSilent = 120;  // seconds
constexpr int kMostRanks = 8;

const MetricsLine* last_of(const RunLog& run, const std::string& kind) {
  for (const auto* lines : {&run.metrics, &run.earlier.epochs}) {
    const auto found = std::find_if(lines->rbegin(), lines->rend(),
                                    [&](const MetricsLine& line) { return line.kind == kind; });
    if (found != lines->rend()) return &*found;
  }
  return nullptr;
}

const EventLine* last_event(const RunLog& run, const std::string& event) {
  const auto found = std::find_if(run.events.rbegin(), run.events.rend(),
                                  [&](const EventLine& line) { return line.event == event; });
  return found == run.events.rend() ? nullptr : &*found;
}

/// That a record or an event since the last start tells of: not every step has a record.
std::int64_t last_step(const RunLog& run) {
  std::int64_t step = run.metrics.empty() ? 0 : run.metrics.back().step;
  for (auto event = run.events.rbegin(); event != run.events.rend(); ++event) {
    step = std::max(step, event->step);
    if (event->event == "start") break;
  }
  return step;
}

std::int64_t total_steps(const RunLog& run) {
  const EventLine* start = last_event(run, "start");
  if (start && start->total_steps > 0) return start->total_steps;
  const MetricsLine* epoch = last_of(run, "epoch");
  return epoch && epoch->epoch > 0 ? epoch->step / epoch->epoch * run.epochs : 0;
}

/// Seconds between the last records that may be awaited: a run is silent after several of them.
double longest_gap(const RunLog& run) {
  return std::max(run.earlier.longest_gap, longest_gap(std::span(run.metrics)));
}

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{:.4g}", *value) : "none";
}

std::string state_text(const RunLog& run, std::int64_t now) {
  switch (run_state(run, now)) {
    case RunState::begins:
      return "begins";
    case RunState::runs:
      return "runs";
    case RunState::silent:
      return "silent for " +
             duration_text(static_cast<double>(now - run.last_change.value_or(now))) +
             " (killed, or hangs)";
    case RunState::stopped:
      return "stopped: " + printable(last_event(run, "stop")->reason);
    case RunState::failed:
      return "failed: " + printable(last_event(run, "failure")->reason);
    case RunState::finished:
      return "finished";
  }
  return "";
}

std::string progress_text(const RunLog& run) {
  const std::int64_t step = last_step(run);
  const std::int64_t total = total_steps(run);
  const MetricsLine* epoch = last_of(run, "epoch");
  std::string text = fmt::format("epoch {} of {}, step {}", epoch ? epoch->epoch : 0, run.epochs,
                                 grouped_text(step));
  if (total > 0) {
    const double share = static_cast<double>(step) / static_cast<double>(total);
    text +=
        fmt::format(" of {}  {} {:.0f} %", grouped_text(total), text_bar(share, 24), 100 * share);
  }
  return text;
}

/// "loss 0.3 training, 0.4 test; accuracy 91.2 % test"
std::string figures_text(const RunLog& run) {
  const MetricsLine* step = last_of(run, "step");
  const MetricsLine* epoch = last_of(run, "epoch");
  const MetricsLine* test = last_of(run, "eval");
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "   ") + part; };
  if (step && (!epoch || step->step > epoch->step)) add("batch " + number(step->loss));
  if (epoch) add("training " + number(epoch->loss));
  if (test) {
    const bool is_earlier = epoch && test->epoch < epoch->epoch;
    const std::string of = is_earlier ? fmt::format(" (epoch {})", test->epoch) : "";
    add("test " + number(test->loss) + of);
  }
  if (text.empty()) return text;
  text = "loss      " + text;
  if (test && test->accuracy) {
    const std::int64_t before = epochs_before_test_data(run);
    std::optional<double> best;
    for (const auto* lines : {&run.earlier.epochs, &run.metrics})
      for (const MetricsLine& line : *lines)
        if (line.kind == "eval" && line.accuracy && line.epoch > before)
          best = std::max(best.value_or(0), *line.accuracy);
    text += fmt::format("\naccuracy  test {:.2f} %", 100 * *test->accuracy);
    text += best ? fmt::format("   best {:.2f} %", 100 * *best) : " (of other test data)";
  }
  return text;
}

std::string speed_text(const RunLog& run) {
  for (auto line = run.metrics.rbegin(); line != run.metrics.rend(); ++line) {
    if (!line->samples_per_s || !std::isfinite(*line->samples_per_s)) continue;
    std::string text =
        fmt::format("speed     {} samples/s", grouped_text(std::llround(*line->samples_per_s)));
    if (line->ranks) text += " on " + count_text(*line->ranks, "rank");
    return text;
  }
  return "";
}

/// "  rank 17    ████ 1.2 %" of the seconds of an epoch.
std::string share_text(const std::string& who, double seconds, double whole) {
  const double share = whole > 0 ? seconds / whole : 0;
  return fmt::format("\n  {:<10} {} {:.1f} %", who, text_bar(share, 24), 100 * share);
}

/// Of an epoch of more ranks than are listed. The seconds of a rank by phase add up to those of the
/// epoch, which are nearly the same for all.
std::string many_waiting_text(const MetricsLine& epoch) {
  double whole = 0;
  RankSummary waiting;
  RankSummary work;
  for (const auto& [phase, seconds] : epoch.rank_summaries) {
    if (phase != kWork) whole += seconds.mean;
    if (phase == kWork) work = seconds;
    if (phase == kWaiting) waiting = seconds;
  }
  const std::string text =
      fmt::format("waiting   share of epoch {}", epoch.epoch) +
      share_text(fmt::format("rank {}", waiting.rank_of_min), waiting.min, whole) +
      share_text("median", waiting.median, whole) +
      share_text(fmt::format("rank {}", waiting.rank_of_max), waiting.max, whole);
  if (work.median <= 0) return text;
  return text + fmt::format("\n  rank {} has {:.2f} times the median rank's work", work.rank_of_max,
                            work.max / work.median);
}

/// Of the last epoch: who waits how much; the ranks that wait least are those the others wait for.
std::string waiting_text(const RunLog& run) {
  const MetricsLine* epoch = last_of(run, "epoch");
  if (!epoch) return "";
  if (epoch->rank_times.empty() && !epoch->rank_summaries.empty()) return many_waiting_text(*epoch);
  std::vector<double> whole;
  std::vector<double> waiting;
  for (const auto& [phase, seconds] : epoch->rank_times) {
    if (whole.size() < seconds.size()) whole.resize(seconds.size());
    for (std::size_t rank = 0; rank < seconds.size(); ++rank) whole[rank] += seconds[rank];
    if (phase == kWaiting) waiting = seconds;
  }
  if (waiting.size() < 2 || waiting.size() != whole.size()) return "";
  std::vector<std::size_t> ranks(waiting.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  const auto share = [&](std::size_t rank) {
    return whole[rank] > 0 ? waiting[rank] / whole[rank] : 0;
  };
  std::stable_sort(ranks.begin(), ranks.end(),
                   [&](std::size_t a, std::size_t b) { return share(a) < share(b); });
  const bool all = ranks.size() <= kMostRanks;
  std::string text = fmt::format("waiting   share of epoch {}, {}", epoch->epoch,
                                 all ? "least first" : "the ranks that wait least");
  if (!all) ranks.resize(kMostRanks);
  for (const std::size_t rank : ranks)
    text += share_text(fmt::format("rank {}", rank), waiting[rank], whole[rank]);
  return text;
}

std::string events_text(const RunLog& run, std::int64_t now) {
  const auto starts = std::count_if(run.events.begin(), run.events.end(),
                                    [](const EventLine& e) { return e.event == "start"; });
  std::string text;
  if (const EventLine* checkpoint = last_event(run, "checkpoint")) {
    text = fmt::format(
        "wrote     checkpoint of step {}, {} ago", grouped_text(checkpoint->step),
        duration_text(static_cast<double>(std::max<std::int64_t>(0, now - checkpoint->time))));
  }
  if (starts > 1) text += fmt::format("{}{} starts", text.empty() ? "" : "   ", starts);
  return text;
}

}  // namespace

RunState run_state(const RunLog& run, std::int64_t now) {
  if (run.is_done) return RunState::finished;
  if (!run.events.empty()) {
    const std::string& event = run.events.back().event;
    if (event == "stop") return RunState::stopped;
    if (event == "failure") return RunState::failed;
  }
  const double patience = std::max(static_cast<double>(kSilent), 3 * longest_gap(run));
  if (run.last_change && static_cast<double>(now - *run.last_change) > patience)
    return RunState::silent;
  return run.metrics.empty() ? RunState::begins : RunState::runs;
}

std::optional<double> seconds_left(const RunLog& run) {
  const std::int64_t total = total_steps(run);
  if (total == 0 || run.metrics.empty()) return std::nullopt;
  // Of this process: its clock began anew.
  std::size_t first = run.metrics.size() - 1;
  while (first > 0 && run.metrics.size() - first < kRecent &&
         run.metrics[first - 1].time_s.value_or(0) <= run.metrics[first].time_s.value_or(0))
    --first;
  const MetricsLine& begin = run.metrics[first];
  const MetricsLine& end = run.metrics.back();
  const auto steps = static_cast<double>(end.step - begin.step);
  const double seconds = end.time_s.value_or(0) - begin.time_s.value_or(0);
  if (steps <= 0 || !(seconds > 0)) return std::nullopt;
  return seconds / steps * static_cast<double>(std::max<std::int64_t>(0, total - end.step));
}

std::string watch_text(const RunLog& run, std::int64_t now, const TextPlot& size) {
  std::vector<std::pair<double, double>> losses = run.earlier.losses;
  const bool has_steps = !losses.empty() || last_of(run, "step") != nullptr;
  for (const auto* lines : {&run.earlier.epochs, &run.metrics})
    for (const MetricsLine& line : *lines)
      if (line.kind == (has_steps ? "step" : "epoch") && line.loss)
        losses.emplace_back(static_cast<double>(line.step), *line.loss);
  std::string left = speed_text(run);
  const auto seconds = seconds_left(run);
  if (seconds && !has_ended(run_state(run, now)))
    left += fmt::format("{}{} left", left.empty() ? "" : "   ", duration_text(*seconds));
  std::string text = fmt::format("{}   {}", printable(run.name), state_text(run, now));
  for (const std::string& part :
       {progress_text(run), text_plot(losses, size, "step"), figures_text(run), left,
        waiting_text(run), events_text(run, now)})
    if (!part.empty()) text += "\n" + part;
  return text;
}

}  // namespace quern
