// SPDX-License-Identifier: Apache-2.0
// The sum of the ranks' partial gradients.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "linalg/block_schedule.hpp"
#include "parallel/batch_partition.hpp"
#include "parallel/tree_sum.hpp"
#include "tensor/parameter_block.hpp"
#include "tensor/parameter_update.hpp"

namespace quern {

/// The number of a reducer's plan, which is all about one shape of batch that can be worked out
/// before the loop: a full batch and the short last one have a plan each.
enum class ReductionPlan : int {};

struct ReducedGradient {
  /// num_gradient() floats, equal on all ranks after reduce(); valid until the next one.
  ConstFloatView total;
  ConstFloatView sums;   ///< the num_sums floats after them
  ConstFloatView votes;  ///< one float, the sum of the ranks' votes
};

/// Collective calls: all ranks make the same plans in the same order, allocate, and reduce
/// together.
class GradientReducer {
 public:
  /// `num_floats` >= 1: floats of the flat gradient block; the last `num_sums` of them, fewer than
  /// all, are sums that every rank needs whoever updates the parameters.
  GradientReducer(Communicator& comm, std::int64_t num_floats, SumOrder order,
                  std::int64_t num_sums = 0);
  virtual ~GradientReducer() = default;
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  int rank() const { return comm_.rank(); }
  int num_ranks() const { return comm_.size(); }
  std::int64_t num_floats() const { return num_floats_; }
  std::int64_t num_gradient() const { return num_floats_ - num_sums_; }
  std::int64_t num_sums() const { return num_sums_; }

  /// Floats from one partial sum to the next: the block, and after it room for the vote, which
  /// travels with the last slice.
  std::int64_t partial_stride() const { return round_up_to_lanes(num_floats_ + 1); }

  /// Partial sums that a rank's kernels hand over under a partition; 0 on ranks without blocks.
  int num_partial_sums(const BatchPartition& partition, int rank) const;

  /// Makes a plan for a partition of this communicator's ranks; plans count from 0. Before
  /// allocate(), or with takes_later_plans() at any time, for partitions whose partial sums have
  /// room.
  ReductionPlan add_plan(const BatchPartition& partition);

  virtual bool takes_later_plans() const { return false; }

  /// Room in partial_sums() for at least so many, whatever the plans hand over. The same on all
  /// ranks. Before allocate().
  void reserve(int partial_sums);

  /// Bytes that allocate() will take for this rank, which has a share of what a node has once;
  /// plans and other small buffers are left out. After the last plan.
  std::int64_t bytes() const { return num_buffer_floats() * std::int64_t{sizeof(float)}; }

  /// Floats that this rank sends in a step with this plan; of exchanges in which every rank passes
  /// something on to all others, (R - 1) / R of what it then has, as in a ring.
  virtual std::int64_t floats_sent(ReductionPlan plan) const;

  /// Once, after the last plan: makes all buffers.
  void allocate();

  /// Where this rank's kernels write, room for the partial sums of every plan (and at least one).
  /// The reducer owns the memory because it may lie where the other ranks can read it.
  const GradientSums& partial_sums() const { return partial_sums_; }

  /// One float after the first partial sum, which kernels set to 0 or 1 before reduce(): one
  /// message less to agree on stopping.
  FloatView vote() const;

  /// The floats of partial_sums() from `offset` on, and the vote, are complete after what is on
  /// `exec` now: a reducer may begin to move them. Called with falling offsets from num_gradient()
  /// on, or not at all.
  virtual void complete_from(const ExecSpace& /*exec*/, ReductionPlan, std::int64_t /*offset*/) {}

  /// Adds up all ranks' partial_sums() and votes. May overwrite them. What follows on `exec` sees
  /// the total; on a device the host does not wait. No allocation.
  virtual ReducedGradient reduce(const ExecSpace& exec, ReductionPlan plan) = 0;

  /// From which floats of the gradient a rank updates the parameters: rising ranges that are not
  /// empty. All of them, unless each rank updates a part: then reduce_own_part() is enough, and
  /// publish_update() follows the update. Together the ranks have everything, nothing twice.
  virtual std::vector<BlockRange> ranges_of(int /*rank*/) const { return {{0, num_gradient()}}; }
  /// Of this rank.
  std::vector<BlockRange> own_ranges() const { return ranges_of(comm_.rank()); }

  /// Does a rank need optimizer state for its own ranges alone? (Updaters::are_owners, and the
  /// ranks share no memory.)
  virtual bool spreads_state() const { return false; }

  /// As reduce(), but `total` need only be complete in own_ranges(). With spreads_state() there is
  /// nothing else: reduce() is not to be called.
  virtual ReducedGradient reduce_own_part(const ExecSpace& exec, ReductionPlan plan) {
    return reduce(exec, plan);
  }

  /// Is there reduce_and_update()? Of ranks that share memory, with kernels on CPUs.
  virtual bool updates_parameters() const { return false; }
  /// As reduce_own_part(), but this rank's part of the first `num_updated` floats of the gradient
  /// goes to the update, piece by piece while it is in a cache, and not into `total`.
  /// `begin_update` is called once, with the sums, before the first piece.
  using BeginUpdate = std::function<ParameterUpdate(const ConstFloatView& sums)>;
  virtual ReducedGradient reduce_and_update(const ExecSpace& exec, ReductionPlan plan,
                                            std::int64_t num_updated,
                                            const BeginUpdate& begin_update);

  /// As reduce(), of the sums alone: nobody needs the gradient in front of them.
  virtual ConstFloatView reduce_sums(const ExecSpace& exec, ReductionPlan plan) {
    return reduce_own_part(exec, plan).sums;
  }

  /// Do the ranks update arrays that they share? Then all ranks are on one node. StateMemory makes
  /// the arrays.
  virtual bool shares_state() const { return false; }

  /// Floats that publish_update() moves, at least num_gradient().
  virtual std::int64_t num_published() const { return num_gradient(); }

  /// Everybody has updated its ranges of `parameters`, of at least num_published() floats; what
  /// follows on `exec` sees those of all.
  virtual void publish_update(const ExecSpace& /*exec*/, const FloatView& /*parameters*/) {}

  /// all.size() / size() floats of every rank, in rank order, after what is on `exec`; this rank's
  /// part stands at its place in `all`. What follows on `exec` sees all. Of reducers with
  /// spreads_state() or shares_state().
  virtual void all_gather(const ExecSpace& exec, const FloatView& all);

  /// Can the calls above be recorded as a graph? Not if the host takes part in them.
  virtual bool is_capturable() const { return comm_.size() == 1; }

  /// Collective: waits for everything on `exec`. AgreedError on all ranks when an exchange of one
  /// of them has failed.
  virtual void wait(const ExecSpace& exec) { exec.fence("quern::parallel::wait"); }

  /// How the sum is formed, for people: "through shared memory, 2 ranks of one node".
  virtual std::string describe() const;

 protected:
  Communicator& comm() const { return comm_; }
  const std::vector<BatchPartition>& partitions() const { return partitions_; }

  SumOrder order() const { return order_; }

  /// Partial sums that a rank has room for: `partial_sums`, or more if so many were reserved.
  std::int64_t with_reserve(int partial_sums) const { return std::max(partial_sums, reserved_); }
  /// Most partial sums of a rank under any plan, at least one.
  int max_partial_sums(int rank) const;
  /// Of all ranks.
  int max_partial_sums() const;

  /// Works out what later questions about the last of partitions() share.
  virtual void prepare_plan() {}

  /// What bytes() counts.
  virtual std::int64_t num_buffer_floats() const { return private_partial_floats(); }
  std::int64_t private_partial_floats() const {
    return with_reserve(max_partial_sums(comm_.rank())) * partial_stride();
  }

  /// What partial_sums() is to be; whatever else the reducer needs for partitions() is made here,
  /// too.
  virtual FloatView allocate_partial_sums() = 0;
  /// The floats of a View as the communicator takes them: host memory. The one place where reducers
  /// hand kernel memory to a transport. The caller has fenced.
  static std::span<float> host_span(const FloatView& view);
  /// The result in `floats`: num_floats() of them and the votes after them.
  ReducedGradient reduced(const ConstFloatView& floats) const;
  /// The last of partitions() has come after allocate(). Of reducers with takes_later_plans().
  virtual void prepare_later_plan() {}
  /// Memory of this rank alone, for max_partial_sums(own rank).
  FloatView allocate_private_partial_sums() const;

 private:
  Communicator& comm_;
  std::int64_t num_floats_;
  SumOrder order_;
  std::int64_t num_sums_;
  std::vector<std::int64_t> equal_counts_;  // of all_gather()
  std::vector<BatchPartition> partitions_;
  int reserved_ = 1;
  GradientSums partial_sums_;
};

}  // namespace quern
