// SPDX-License-Identifier: Apache-2.0
// Which rank computes how many micro-blocks of a batch, where cores are not equally fast.
//
// The fixed tree does not care who computes a block, so blocks may move from rank to rank without
// changing a bit. What a rank's blocks took says which core is slow. It does not say why: a core
// that a neighbour has half of the time looks as fast as the others as soon as the rank leaves it
// enough, because the system then lets the rank go first. So a change is a trial. It stays if the
// steps became shorter; else it is taken back, and the next one waits twice as long.
#pragma once

#include <vector>

namespace quern {

/// What one rank did in a step, on average over some steps.
struct RankLoad {
  double computing = 0;  ///< seconds for its blocks, without waiting for other ranks
  double step = 0;       ///< seconds in all
};

/// The same decisions on all ranks, from the same loads.
class ShareBalance {
 public:
  /// Partial sums of a rank at most: each is a whole gradient to write and to read again.
  static constexpr int kMostSums = 2;

  /// Begins with equal shares (BatchPartition) of `num_blocks` >= 1 blocks for `num_ranks` >= 1.
  ShareBalance(int num_blocks, int num_ranks);

  /// Blocks of each rank.
  const std::vector<int>& shares() const { return shares_; }
  /// What no share ever exceeds: half as much again as an equal one.
  int most_blocks() const { return most_; }

  /// After some steps with shares(): one load for each rank. Returns whether shares() has changed.
  bool update(const std::vector<RankLoad>& loads);

 private:
  bool is_allowed(const std::vector<int>& shares) const;
  std::vector<int> best_move(const std::vector<RankLoad>& loads) const;

  int num_blocks_;
  int most_;
  std::vector<int> shares_;
  bool is_trial_ = false;
  std::vector<int> before_;  ///< the trial, its shares
  double step_before_ = 0;   ///< and the seconds of a step
  int patience_ = 1;         ///< calls of update() from a trial that failed to the next
  int rest_ = 0;             ///< of these, how many are left
  std::vector<int> relief_;  ///< of each rank: calls that are left until it may get blocks
};

}  // namespace quern
