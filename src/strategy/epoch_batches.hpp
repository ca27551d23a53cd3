// SPDX-License-Identifier: Apache-2.0
// The batches of an epoch, of training or evaluation, as this rank works them off.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "strategy/batch_plan.hpp"
#include "strategy/batch_rule.hpp"
#include "strategy/pipeline_order.hpp"

namespace quern {

/// A batch of one size: this rank's part of it, cut into pieces, and in which order its stage
/// computes them.
struct PlannedBatch {
  BatchPlan plan;
  std::vector<BatchPiece> pieces;
  std::vector<PipelineWork> order;
  ReductionPlan reduction{};  ///< how the ranks' gradients are added

  int samples() const { return plan.samples(); }
  int num_pieces() const { return static_cast<int>(pieces.size()); }
  const BatchPiece& piece(int i) const { return pieces[static_cast<std::size_t>(i)]; }
};

/// What the arrays of a step are for.
struct StepRoom {
  BatchLimit limit{1};  ///< of a piece
  int in_flight = 1;    ///< pieces whose arrays are in use at once, at most
};

/// An epoch is full batches, whose shares of the ranks may change, and a last one, which may be as
/// large.
class EpochBatches {
 public:
  /// Of one rank in a group that shares a batch, at one stage of the network.
  struct Worker {
    int rank = 0;
    int num_ranks = 1;
    StagePlace stage = {};
    PipelineSchedule schedule = PipelineSchedule::one_forward_one_backward;
  };
  /// GradientReducer::add_plan, of all that add over a batch.
  using AddPlan = std::function<ReductionPlan(const BatchPartition&)>;

  /// `row_multiple`: the network's. With equal shares. InputError as make_batch_plan().
  EpochBatches(const BatchRule& rule, int row_multiple, const Worker& worker);
  EpochBatches(const EpochBatches&) = delete;
  EpochBatches& operator=(const EpochBatches&) = delete;

  const BatchRule& rule() const { return rule_; }
  const BatchCut& cut() const { return cut_; }
  const PlannedBatch& full() const { return *full_; }
  const PlannedBatch& last() const { return last_; }
  /// The batch that begins with sample `cursor` of an epoch. Stays as it is for good.
  const PlannedBatch& at(std::int64_t cursor) const {
    return rule_.is_short(cursor) ? last_ : *full_;
  }

  /// What is enough for all batches, with shares of up to so many blocks.
  StepRoom room(int most_blocks = 0) const;
  /// Partial sums of the gradient that any rank hands over, at most.
  int most_partial_sums() const;
  /// And that its pieces need room for (GradientReducer::reserve).
  int most_piece_sums() const;

  /// Before the first step: a plan for the full batch, then one for the last.
  void plan_reductions(const AddPlan& add_plan);
  /// After that: full() is cut into so many micro-blocks for each rank. A plan is added for shares
  /// that are new.
  void take_shares(const std::vector<int>& shares, const AddPlan& add_plan);

 private:
  PlannedBatch make_batch(const BatchPartition& partition) const;

  BatchRule rule_;
  BatchCut cut_;
  Worker worker_;
  std::map<std::vector<int>, PlannedBatch> full_by_shares_;
  PlannedBatch* full_;  // one of them
  PlannedBatch last_;
};

}  // namespace quern
