// SPDX-License-Identifier: Apache-2.0
// Everything about one size of batch that can be worked out before the loop.
#pragma once

#include "dataset/window_order.hpp"
#include "linalg/block_schedule.hpp"
#include "parallel/batch_partition.hpp"
#include "parallel/gradient_reducer.hpp"
#include "parallel/piece_sums.hpp"
#include "parallel/tree_sum.hpp"
#include "spec/training_spec.hpp"
#include "tensor/step_scalars.hpp"

namespace quern {

/// A global batch of `samples` and this rank's part of it: which micro-blocks, in how many rows.
/// An epoch has at most two of them: the full batch, and the short last one.
struct BatchPlan {
  BatchPartition partition{1, 1, 1};
  BlockSchedule schedule;
  int first_sample = 0;   ///< of this rank, within the batch
  int num_samples = 0;    ///< of this rank
  int micro_batches = 1;  ///< pieces, at most, in which the part is worked off

  int samples() const { return partition.samples(); }
  int rows() const { return schedule.rows(); }
  /// What this rank needs room for at once, for a batch of this size or a smaller one: with fewer
  /// blocks a rank may own more of them.
  BatchLimit limit() const {
    return {piece_blocks(partition, micro_batches) * schedule.block_rows, schedule.block_rows};
  }
};

/// One piece of a rank's part of a batch, worked off on its own.
struct BatchPiece {
  BatchPlan plan;  ///< as if the rank had the blocks of the piece alone
  PieceSums sums;
};

/// How batches are cut, whatever their size.
struct BatchCut {
  int block_samples = 1;  ///< samples of a micro-block
  int row_multiple = 1;   ///< what the network's layouts need: rows of a micro-block
  Determinism determinism = Determinism::rank_invariant;
  int micro_batches = 1;  ///< parallel.micro_batches

  SumOrder sum_order() const {
    return determinism == Determinism::fast ? SumOrder::ranks : SumOrder::tree;
  }
};

/// InputError when there are more micro-blocks than the summation tree can hold.
BatchPlan make_batch_plan(const BatchCut& cut, int samples, int rank, int num_ranks);
/// Where the shares of the ranks are given: micro-blocks of cut.block_samples.
BatchPlan make_batch_plan(const BatchCut& cut, const BatchPartition& partition, int rank);

/// The pieces of make_batch_plan(cut, ...), in order; a single one is the plan itself.
std::vector<BatchPiece> make_batch_pieces(const BatchCut& cut, const BatchPlan& whole, int rank);
/// Room for partial sums that these pieces need: what GradientReducer::reserve() is told.
int most_piece_sums(const BatchCut& cut, const BatchPartition& partition);

/// In which order an epoch takes the samples of a set, and where they are.
struct SampleOrder {
  std::int64_t count = 0;
  bool shuffle = false;   ///< by (seed, epoch); else they are counted
  WindowPlan windows;     ///< if it is active, the shuffle of that
  WindowBuffers buffers;  ///< of a streamed set
};

/// Overwrites sample_of_row[0 .. plan.rows()) with the samples of the batch that starts at
/// scalars().cursor: sample i of the batch is number cursor + i of the epoch's order. Empty rows
/// get -1. For a streamed set also place_of_row, with where they are in its buffers; else it may be
/// empty.
void assign_rows(const ExecSpace& exec, const BatchPlan& plan, const SampleOrder& order,
                 const StepScalarsView& scalars, const View<std::int64_t>& sample_of_row,
                 const View<std::int64_t>& place_of_row);

}  // namespace quern
