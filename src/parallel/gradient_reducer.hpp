// SPDX-License-Identifier: Apache-2.0
// The sum of the ranks' gradient partials.
#pragma once

#include <cstdint>

#include "comm/communicator.hpp"
#include "linalg/block_schedule.hpp"
#include "parallel/batch_partition.hpp"

namespace quern {

/// Everything about one shape of batch that can be worked out before the loop: a full batch and the
/// short last one have a plan each.
enum class ReductionPlan : int {};

struct ReducedGradient {
  FloatView total;  ///< num_floats floats, equal on all ranks; valid until the next reduce
  float votes = 0;  ///< sum of the ranks' votes
};

/// Collective calls: all ranks make the same plans in the same order and reduce together.
class GradientReducer {
 public:
  /// `num_floats` >= 1: floats of the flat gradient block.
  GradientReducer(Communicator& comm, std::int64_t num_floats);
  virtual ~GradientReducer() = default;
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  std::int64_t num_floats() const { return num_floats_; }

  /// Floats from one partial to the next: the block, and behind it room for the vote, which
  /// travels with the last slice.
  std::int64_t partial_stride() const { return round_up_to_lanes(num_floats_ + 1); }

  /// Partials this rank hands over under a partition, each of partial_stride() floats; 0 on ranks
  /// without blocks.
  virtual int num_partials(const BatchPartition& partition) const = 0;

  /// Makes a plan and all the buffers it needs. Not to be called after the first reduce().
  virtual ReductionPlan add_plan(const BatchPartition& partition) = 0;

  /// Adds up all ranks' partials and votes (0 or 1: one message less to agree on stopping). May
  /// overwrite `partials`. Waits for `exec`; the total is complete on return. No allocation.
  virtual ReducedGradient reduce(const ExecSpace& exec, ReductionPlan plan,
                                 const GradientPartials& partials, float vote) = 0;

 protected:
  Communicator& comm() const { return comm_; }
  /// Throws Error unless `partials` can hold what a plan needs.
  void check_partials(const GradientPartials& partials, int num_partials) const;

 private:
  Communicator& comm_;
  std::int64_t num_floats_;
};

}  // namespace quern
