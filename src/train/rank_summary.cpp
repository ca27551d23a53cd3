// SPDX-License-Identifier: Apache-2.0
#include "train/rank_summary.hpp"

#include <algorithm>
#include <numeric>

#include "base/assert.hpp"

namespace quern {

namespace {

bool is_work(const std::string& phase) {
  return phase != kWaiting && phase != kOther;
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

}  // namespace

RankSummary summarize_ranks(const std::vector<double>& values) {
  expect(!values.empty(), "numbers of ranks");
  // The first of several, unlike std::minmax_element().
  const auto least = std::min_element(values.begin(), values.end());
  const auto most = std::max_element(values.begin(), values.end());
  RankSummary summary;
  summary.min = *least;
  summary.median = median_of(values);
  summary.mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  summary.max = *most;
  summary.rank_of_min = least - values.begin();
  summary.rank_of_max = most - values.begin();
  return summary;
}

RankSummaries summarize_rank_times(const RankTimes& times) {
  RankSummaries summaries;
  std::vector<double> work;
  for (const auto& [phase, seconds] : times) {
    summaries.emplace_back(phase, summarize_ranks(seconds));
    if (!is_work(phase)) continue;
    work.resize(std::max(work.size(), seconds.size()));
    for (std::size_t rank = 0; rank < seconds.size(); ++rank) work[rank] += seconds[rank];
  }
  if (!work.empty()) summaries.emplace_back(kWork, summarize_ranks(work));
  return summaries;
}

}  // namespace quern
