// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parallel/gathered_sums.hpp"
#include "parallel/gradient_reducer.hpp"
#include "parallel/gradient_slices.hpp"
#include "parallel/halving.hpp"
#include "parallel/halving_exchange.hpp"
#include "parallel/owner_slices.hpp"
#include "parallel/tree_sum.hpp"

namespace quern {

/// determinism = "rank-invariant": the same bits for any number of ranks. MPI moves bytes only. One
/// rank: `total` is the partial sum, nothing moves.
///
/// Where there are enough ranks, by halving.hpp, in place of the first partial sum; the vote is the
/// last float. Else each rank owns a slice of the gradient. (1) Every rank sends each
/// owner that slice of its partial sums, (2) the owner adds the partial sums of all ranks in the
/// order of the fixed tree, (3) the sums go to everybody. The vote travels after the last slice.
///
/// With owners: no halving; (1) and (2) for the gradient without the sums that every rank needs,
/// which everybody gets and adds, with the votes; then the owner updates its slice of the
/// parameters, and (3) hands that to everybody in place of the gradient's. As many floats move.
class TreeReducer final : public GradientReducer {
 public:
  TreeReducer(Communicator& comm, std::int64_t num_floats, std::int64_t num_sums = 0,
              const Updaters& updaters = {});

  std::int64_t floats_sent(ReductionPlan plan) const override;
  ReducedGradient reduce(const ExecSpace& exec, ReductionPlan plan) override;
  ReducedGradient reduce_own_part(const ExecSpace& exec, ReductionPlan plan) override;
  std::vector<BlockRange> ranges_of(int rank) const override;
  bool spreads_state() const override { return owners_.has_value(); }
  void publish_update(const ExecSpace& exec, const FloatView& parameters) override;
  std::string describe() const override;

 private:
  struct Exchange {
    int num_partial_sums = 0;           ///< of this rank
    std::vector<Segment> send_to;       ///< in the only partial sum, else in packed_
    std::vector<Segment> receive_from;  ///< in received_
    std::vector<std::int64_t> votes;    ///< places in received_, where this rank adds the votes
  };
  struct Plan : Exchange {
    TreeSumPlan sum;
    std::unique_ptr<HalvingExchange> halving;  ///< in place of the rest
  };
  // Floats of total_, received_ and packed_.
  struct BufferSizes {
    std::int64_t total = 0;
    std::int64_t received = 0;
    std::int64_t packed = 0;
  };

  void prepare_plan() override;
  FloatView allocate_partial_sums() override;
  std::int64_t num_buffer_floats() const override;
  BufferSizes buffer_sizes() const;
  Exchange make_exchange(const BatchPartition& partition) const;
  Plan make_plan(const BatchPartition& partition) const;
  void send_partial_sums(const ExecSpace& exec, const Plan& plan);
  void add_own_slice(const ExecSpace& exec, const Plan& plan);
  void gather_slices();

  /// Votes that travel after a slice.
  int num_votes(int rank) const { return owners_ ? 0 : slices_.num_votes(rank); }

  std::optional<OwnerSlices> owners_;        ///< none: everybody gets the gradient
  GradientSlices slices_;                    ///< of the floats that are exchanged slice by slice
  GatheredSums sums_;                        ///< with owners
  std::vector<std::int64_t> gather_counts_;  ///< floats of each slice, and the votes after the last
  std::vector<std::optional<Halving>> halvings_;  ///< of each plan; none: slice by slice
  std::vector<Plan> plans_;
  FloatView packed_;    ///< slices of several partial sums, in the order of sending
  FloatView received_;  ///< the other ranks' partial sums of this rank's slice
  FloatView total_;     ///< num_floats, and the sum of the votes; with owners num_gradient
};

}  // namespace quern
