// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "linalg/block_schedule.hpp"
#include "parallel/tree_sum.hpp"

namespace quern {

/// A few floats at the end of every partial sum, and the votes, which all ranks need: everybody
/// gets them as they are, and adds them for itself in the order of the fixed tree. The exchange is
/// the caller's:
///
///   pack | all-gather of gathered(), equal parts | add
class GatheredSums {
 public:
  /// The `num_sums` floats from `num_gradient` on, and the vote after them.
  GatheredSums(std::int64_t num_gradient, std::int64_t num_sums, int rank, int num_ranks);

  /// Plan after plan; `max_partial_sums`: of any rank under any plan.
  void allocate(const std::vector<BatchPartition>& partitions, int max_partial_sums);
  /// Floats that allocate() takes.
  std::int64_t num_floats(int max_partial_sums) const {
    return num_ranks_ * (max_partial_sums * num_sums_ + 1) + num_sums_ + 1;
  }

  /// Overwrites this rank's part of gathered(). The vote stands in the first partial sum.
  void pack(const ExecSpace& exec, const GradientSums& partial_sums, int num_partial_sums) const;
  /// A part for each rank, in rank order.
  const FloatView& gathered() const { return gathered_; }
  /// Overwrites sums() and votes() with the totals of plan `plan`.
  void add(const ExecSpace& exec, std::size_t plan) const;

  ConstFloatView sums() const {
    return Kokkos::subview(sums_, std::pair<std::int64_t, std::int64_t>(0, num_sums_));
  }
  ConstFloatView votes() const {
    return Kokkos::subview(sums_, std::pair(num_sums_, num_sums_ + 1));
  }

 private:
  std::int64_t num_gradient_;
  std::int64_t num_sums_;
  int rank_;
  int num_ranks_;
  std::int64_t section_ = 0;  // floats of a rank's part
  std::vector<TreeSumPlan> plans_;
  FloatView gathered_;
  FloatView sums_;  // num_sums_, and the votes
};

}  // namespace quern
