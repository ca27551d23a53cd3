// SPDX-License-Identifier: Apache-2.0
// The sum of the ranks' gradient partials.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "linalg/block_schedule.hpp"
#include "parallel/batch_partition.hpp"

namespace quern {

/// Everything about one shape of batch that can be worked out before the loop: a full batch and the
/// short last one have a plan each.
enum class ReductionPlan : int {};

struct ReducedGradient {
  ConstFloatView total;  ///< num_floats floats, equal on all ranks; valid until the next reduce
  float votes = 0;       ///< sum of the ranks' votes
};

/// Collective calls: all ranks make the same plans in the same order, allocate, and reduce
/// together.
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

  /// Partials that a rank's kernels hand over under a partition; 0 on ranks without blocks.
  virtual int num_partials(const BatchPartition& partition, int rank) const = 0;

  /// Makes a plan for a partition of this communicator's ranks. Before allocate().
  ReductionPlan add_plan(const BatchPartition& partition);

  /// Once, after the last plan: makes all buffers.
  void allocate();

  /// Where this rank's kernels write, room for the partials of every plan (and at least one). The
  /// reducer owns the memory because it may lie where the other ranks can read it.
  const GradientPartials& partials() const { return partials_; }

  /// Adds up all ranks' partials() and votes (0 or 1: one message less to agree on stopping). May
  /// overwrite the partials. Waits for `exec`; the total is complete on return. No allocation.
  virtual ReducedGradient reduce(const ExecSpace& exec, ReductionPlan plan, float vote) = 0;

  /// How the sum is formed, for people: "through shared memory, 2 ranks of one node".
  virtual std::string describe() const;

 protected:
  Communicator& comm() const { return comm_; }
  const std::vector<BatchPartition>& partitions() const { return partitions_; }

  /// Most partials of a rank under any plan, at least one.
  int max_partials(int rank) const;

  /// What partials() is to be; whatever else the reducer needs for partitions() is made here, too.
  virtual FloatView allocate_partials() = 0;
  /// Memory of this rank alone, for max_partials(own rank).
  FloatView allocate_private_partials() const;

 private:
  Communicator& comm_;
  std::int64_t num_floats_;
  std::vector<BatchPartition> partitions_;
  GradientPartials partials_;
};

}  // namespace quern
