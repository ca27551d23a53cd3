// SPDX-License-Identifier: Apache-2.0
// What the times of very many ranks come to: a number of each would make megabytes of an epoch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "strategy/step_timer.hpp"

namespace quern {

/// Of one number of each rank.
struct RankSummary {
  double min = 0;
  double median = 0;  ///< of an even number of ranks the middle of two
  double mean = 0;
  double max = 0;
  std::int64_t rank_of_min = 0;  ///< the first, where several have it
  std::int64_t rank_of_max = 0;
};

/// By phase, seconds of rank 0, 1, ...
using RankTimes = std::vector<std::pair<std::string, std::vector<double>>>;
using RankSummaries = std::vector<std::pair<std::string, RankSummary>>;

/// Up to so many ranks metrics.jsonl has the times of each.
inline constexpr std::size_t kMostListedRanks = 256;

/// Phases of an epoch: those of its steps (StepTimes::kNames), of which this is one, ...
inline constexpr const char* kWaiting = StepTimes::name(StepPhase::waiting);
/// ... and what is no step.
inline constexpr const char* kOther = "other";
/// All of them together but these two: the others wait for the rank with the most.
inline constexpr const char* kWork = "work";

/// Of at least one rank.
RankSummary summarize_ranks(const std::vector<double>& values);

/// Of every phase, and of kWork.
RankSummaries summarize_rank_times(const RankTimes& times);

}  // namespace quern
