// SPDX-License-Identifier: Apache-2.0
#include "strategy/share_balance.hpp"

#include <algorithm>
#include <cstddef>

#include "base/assert.hpp"
#include "base/block_tree.hpp"
#include "parallel/batch_partition.hpp"

namespace quern {

namespace {

// A trial is made for a gain of this much by the loads, and stays for this much by the clock.
constexpr double kPromised = 0.95;
constexpr double kGained = 0.98;
constexpr int kMostPatience = 64;
// Calls of update() in which a rank gets no blocks after a trial that stayed took some from it: the
// loads that come of it say that its core is fast now.
constexpr int kRelief = 16;

std::vector<int> equal_shares(int num_blocks, int num_ranks) {
  const BatchPartition partition(num_blocks, 1, num_ranks);
  std::vector<int> shares;
  for (int rank = 0; rank < num_ranks; ++rank) shares.push_back(partition.num_blocks(rank));
  return shares;
}

/// Ranks wait for the slowest: the most seconds that a rank would need for its share.
double slowest(const std::vector<double>& block_seconds, const std::vector<int>& shares) {
  double most = 0;
  for (std::size_t rank = 0; rank < shares.size(); ++rank)
    most = std::max(most, block_seconds[rank] * shares[rank]);
  return most;
}

/// Of each rank; one without blocks counts as fast as the fastest.
std::vector<double> seconds_of_blocks(const std::vector<RankLoad>& loads,
                                      const std::vector<int>& shares) {
  std::vector<double> seconds(shares.size(), 0.0);
  double least = 0;
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    if (shares[rank] == 0) continue;
    seconds[rank] = loads[rank].computing / shares[rank];
    least = least == 0 ? seconds[rank] : std::min(least, seconds[rank]);
  }
  for (std::size_t rank = 0; rank < shares.size(); ++rank)
    if (shares[rank] == 0) seconds[rank] = least;
  return seconds;
}

}  // namespace

ShareBalance::ShareBalance(int num_blocks, int num_ranks)
    : num_blocks_(num_blocks),
      shares_(equal_shares(num_blocks, num_ranks)),
      relief_(static_cast<std::size_t>(num_ranks)) {
  const int equal = shares_.front();
  most_ = std::min(num_blocks, equal + std::max(1, equal / 2));
}

bool ShareBalance::is_allowed(const std::vector<int>& shares) const {
  const BlockTree tree(num_blocks_);
  int first = 0;
  for (const int share : shares) {
    if (share < 1 || share > most_) return false;
    if (tree.traverse_blocks(first, first + share).roots.size() > kMostSums) return false;
    first += share;
  }
  return true;
}

// From the slowest rank to any other one that is not relieved.
std::vector<int> ShareBalance::best_move(const std::vector<RankLoad>& loads) const {
  const std::vector<double> seconds = seconds_of_blocks(loads, shares_);
  std::size_t slow = 0;
  for (std::size_t rank = 0; rank < shares_.size(); ++rank)
    if (seconds[rank] * shares_[rank] > seconds[slow] * shares_[slow]) slow = rank;
  double least = kPromised * slowest(seconds, shares_);
  std::vector<int> best = shares_;
  for (std::size_t fast = 0; fast < shares_.size(); ++fast) {
    if (fast == slow || relief_[fast] > 0) continue;
    std::vector<int> shares = shares_;
    while (shares[slow] > 1 && shares[fast] < most_) {
      shares[slow] -= 1;
      shares[fast] += 1;
      const double most = slowest(seconds, shares);
      if (most >= least || !is_allowed(shares)) continue;
      least = most;
      best = shares;
    }
  }
  return best;
}

bool ShareBalance::update(const std::vector<RankLoad>& loads) {
  expect(loads.size() == shares_.size(), "a load for each rank");
  double step = 0;
  for (const RankLoad& load : loads) step = std::max(step, load.step);
  if (is_trial_) {
    is_trial_ = false;
    if (step >= kGained * step_before_) {
      shares_ = before_;
      patience_ = std::min(2 * patience_, kMostPatience);
      rest_ = patience_;
      return true;
    }
    patience_ = 1;
    for (std::size_t rank = 0; rank < shares_.size(); ++rank)
      if (shares_[rank] < before_[rank]) relief_[rank] = kRelief;
  }
  for (int& calls : relief_) calls = std::max(calls - 1, 0);
  if (rest_ > 0) {
    --rest_;
    return false;
  }
  std::vector<int> shares = best_move(loads);
  if (shares == shares_) return false;
  before_ = shares_;
  step_before_ = step;
  shares_ = std::move(shares);
  is_trial_ = true;
  return true;
}

}  // namespace quern
