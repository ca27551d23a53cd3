// SPDX-License-Identifier: Apache-2.0
// What a training step takes on many nodes, from what a rank takes alone and what the network does.
// docs/scaling.md has the formulas, and what they leave out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "parallel/halving.hpp"
#include "plan/measured_line.hpp"
#include "plan/rank_work.hpp"
#include "spec/training_spec.hpp"

namespace quern {

inline constexpr double kFloatBytes = sizeof(float);

/// What a step asks of a rank of one stage of a network that is split, of the rank with most.
struct StageDemand {
  std::string first_layer;
  std::string last_layer;
  double work = 1;             ///< its share of the multiply-adds of the network's training step
  std::int64_t floats = 0;     ///< of its gradient, with what travels behind it
  double sent_forward = 0;     ///< bytes of a piece for the next stage
  double sent_backward = 0;    ///< and for the one before
  int exchanges = 0;           ///< inside of layers for a piece, one after the other
  double exchanged_bytes = 0;  ///< that it sends in these
  std::int64_t memory_bytes = 0;
};

/// What a step asks of its ranks.
struct StepDemand {
  int ranks = 1;
  bool shares_state = false;  ///< the ranks, of one node, have gradient and optimizer state once
  int global_batch = 0;
  int tensor = 1;                        ///< ranks that share each layer
  int pieces = 1;                        ///< of a batch, one after the other
  std::vector<StageDemand> stages = {};  ///< of a network that is split; else none
  int samples = 0;                       ///< of the rank that has most
  int blocks = 0;                        ///< micro-blocks of the batch
  int block_samples = 0;                 ///< of a micro-block
  int idle_ranks = 0;                    ///< of data_ranks(): without a micro-block
  int partial_sums = 0;                  ///< of the rank that hands on most
  int all_partial_sums = 0;              ///< of all ranks together
  std::int64_t floats = 0;               ///< of the gradient, with what travels behind it
  int batch_sums = 0;  ///< sums over the whole batch inside of layers, one after the other
  Determinism determinism = Determinism::rank_invariant;
  bool shards_optimizer = false;
  /// Of the sum of the gradients, where the ranks halve it (TreeReducer; with shards_optimizer only
  /// those inside of layers).
  std::optional<ExchangeLoad> halving = {};
  /// And whether ranks have several partial sums or none: then GPUs take slices nevertheless.
  bool gathers_leaves = false;

  int num_stages() const { return std::max(1, static_cast<int>(stages.size())); }
  /// Ranks with the same part of the network, over which the batch is shared.
  int data_ranks() const { return ranks / (num_stages() * tensor); }
};

/// What the ranks run on.
struct ClusterFigures {
  int ranks_per_node = 1;
  double speed = 1;  ///< of a rank, where that of the measured one is 1
  /// Ranks of a node that share a core, or 1: they take turns.
  double turns = 1;
  /// Memory that the ranks of a node can share.
  double shared_bytes = std::numeric_limits<double>::infinity();
  double meeting_s = 2e-6;              ///< until all ranks of a node know that all are there
  double adding_bytes_per_s = 0;        ///< of a rank: partial sums that it reads and adds
  double message_s = 0;                 ///< of each message, whatever its size
  double node_bytes_per_s = 0;          ///< out of a node and into it, each
  double node_message_s = 2e-6;         ///< the same inside a node, where a network is split
  double node_message_bytes_per_s = 0;  ///< of a rank
  /// Out of a GPU to the others of its node; 0: ranks are on processors. Of GPUs adding_bytes_per_s
  /// is their memory's bandwidth.
  double link_bytes_per_s = 0;
  /// The sum of gradients inside one node as measured: seconds by the bytes that a rank reads.
  std::optional<MeasuredLine> node_sum = {};
  /// What a sum takes longer after a step than after another sum, for each of its moved_bytes():
  /// between nodes, and inside one. 0: not measured. Of a network that is not split.
  double after_step_s_per_byte = 0;
  double node_after_step_s_per_byte = 0;

  bool has_gpus() const { return link_bytes_per_s > 0; }
};

/// Seconds of a step, and bytes that are sent in it.
struct StepPrediction {
  double compute_s = 0;     ///< forward, backward, update; of the stage that takes longest
  double idle_s = 0;        ///< of that stage: until the first piece comes, after the last one
  double crossing_s = 0;    ///< what crosses between stages, as far as anybody waits for it
  double layers_s = 0;      ///< exchanges inside of layers
  double meetings_s = 0;    ///< starts of messages, and ranks of a node that wait for each other
  double network_s = 0;     ///< bytes over the network of a node
  double adding_s = 0;      ///< partial sums added
  double batch_sums_s = 0;  ///< sums inside of layers
  double after_step_s = 0;  ///< that computing and sums take from each other
  double hidden_s = 0;      ///< of the sum: beside the backward pass of GPUs
  double rank_bytes = 0;    ///< that the rank with most partial sums sends, to whomever
  double node_bytes = 0;    ///< that leave a node
  double all_bytes = 0;     ///< that all ranks send

  double reduction_s() const {
    return meetings_s + network_s + adding_s + batch_sums_s + after_step_s - hidden_s;
  }
  double split_s() const { return idle_s + crossing_s + layers_s; }
  double step_s() const { return compute_s + split_s() + reduction_s(); }
};

/// What the sum of gradients takes over the data_ranks() of the largest stage, and sends; compute_s
/// is 0. Nodes are full: demand.ranks is a multiple of cluster.ranks_per_node.
StepPrediction predict_reduction(const StepDemand& demand, const ClusterFigures& cluster);

/// The same with the work of a rank before it: on processors nothing of the reduction runs beside
/// the backward pass, for the program begins it afterwards; on GPUs all buckets but the last may.
/// `rank`: of the whole network, or of each stage.
StepPrediction predict_step(const StepDemand& demand, const RankWork& rank,
                            const ClusterFigures& cluster);

/// Buckets in which GPUs add their gradients (BucketReducer).
std::int64_t num_buckets(const StepDemand& demand);

/// Bytes that a rank reads while it adds its slice of all partial sums, and writes.
double added_bytes(const StepDemand& demand);

/// Those, and what a rank sends in the sum of its gradients.
inline double moved_bytes(const StepDemand& demand, const StepPrediction& sum) {
  return added_bytes(demand) + sum.rank_bytes;
}

/// Samples per second and node, beside those of the fewest nodes, on `times` as many.
double efficiency(const StepDemand& demand, const StepPrediction& step, double times,
                  const StepDemand& fewest_nodes, const StepPrediction& step_of_fewest);

}  // namespace quern
