// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "parallel/gradient_reducer.hpp"
#include "parallel/gradient_slices.hpp"
#include "parallel/tree_sum.hpp"

namespace quern {

/// All ranks on one node, kernels on the host: the partial sums lie in memory that the node's ranks
/// share, where the kernels write them. (1) Everybody waits for everybody's partial sums, (2) each
/// rank adds its slice of all partial sums straight into the shared total, (3) everybody waits for
/// the total, and reads it there. Nothing is packed, sent or copied. With reduce_own_part() the
/// update of the parameters comes between (2) and (3), which is publish_update() then; with
/// reduce_and_update() it takes each piece of (2), which is not stored. Partial sums
/// are overwritten after (3) only, when nobody reads them any more, and the total after the next
/// (1): one set of buffers is enough. SumOrder::tree gives the bits of TreeReducer.
class SharedMemoryReducer final : public GradientReducer {
 public:
  /// Throws Error unless is_possible(comm).
  SharedMemoryReducer(Communicator& comm, std::int64_t num_floats, SumOrder order,
                      std::int64_t num_sums = 0);

  /// Do all ranks share a node, and do kernels run in host memory? The same on all ranks.
  static bool is_possible(const Communicator& comm);

  ReducedGradient reduce(const ExecSpace& exec, ReductionPlan plan) override;
  std::vector<BlockRange> ranges_of(int rank) const override;
  bool shares_state() const override { return true; }
  bool takes_later_plans() const override { return true; }
  std::int64_t floats_sent(ReductionPlan) const override { return 0; }
  ReducedGradient reduce_own_part(const ExecSpace& exec, ReductionPlan plan) override;
  bool updates_parameters() const override { return true; }
  ReducedGradient reduce_and_update(const ExecSpace& exec, ReductionPlan plan,
                                    std::int64_t num_updated,
                                    const BeginUpdate& begin_update) override;
  void publish_update(const ExecSpace& exec, const FloatView& parameters) override;
  std::string describe() const override;

 private:
  // The sums of one plan: of this rank's slice, and of what all ranks need.
  struct Plan {
    TreeSumPlan slice;
    TreeSumPlan sums;
  };

  FloatView allocate_partial_sums() override;
  void prepare_later_plan() override;
  std::int64_t num_buffer_floats() const override;
  Plan make_plan(const BatchPartition& partition) const;
  TreeSumPlan make_sum(const BatchPartition& partition, std::int64_t offset) const;
  const Plan& plan(ReductionPlan id) const { return plans_.at(static_cast<std::size_t>(id)); }
  ReducedGradient reduce_sums_first(const ExecSpace& exec, ReductionPlan plan_id);
  void sum_slice(const ExecSpace& exec, ReductionPlan plan_id, std::int64_t begin);
  // A rank's vote lies after its first partial sum.
  float& vote_of(int rank) const { return all_partial_sums_(rank * section_ + num_floats()); }

  GradientSlices slices_;  ///< of the gradient without the sums
  std::vector<Plan> plans_;
  std::int64_t section_ = 0;  ///< floats from one rank's partial sums to the next rank's
  std::unique_ptr<NodeShared> partial_sums_memory_;
  std::unique_ptr<NodeShared> total_memory_;
  FloatView all_partial_sums_;  ///< of all ranks, in partial_sums_memory_
  FloatView total_;             ///< num_gradient(), in total_memory_
  FloatView sums_;              ///< num_sums() and the votes after them, this rank's own
};

}  // namespace quern
