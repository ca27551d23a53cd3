// SPDX-License-Identifier: Apache-2.0
#include "plan/scaling_model.hpp"

#include <bit>

#include "base/assert.hpp"
#include "base/ceil_div.hpp"
#include "parallel/bucket_reducer.hpp"
#include "plan/split_model.hpp"

namespace quern {

namespace {

// Open MPI gathers more than so many bytes in a ring, fewer by doubling (Bruck):
// ompi/mca/coll/tuned, total size of allgatherv.
constexpr double kRingBytes = 81920;
// Of the time of a step of GPUs: two of the three products of a layer.
constexpr double kBackward = 2.0 / 3;

bool is_fast(const StepDemand& demand) {
  return demand.determinism == Determinism::fast;
}

double doublings(int ranks) {
  return std::bit_width(static_cast<unsigned>(ranks - 1));
}

bool gathers_parameters(const StepDemand& demand) {
  return is_fast(demand) && demand.shards_optimizer;
}

/// Starts of messages that a rank waits for, one after the other.
double exchange_messages(const StepDemand& demand, double floats, bool halves) {
  const int ranks = demand.data_ranks();
  if (halves) return static_cast<double>(demand.halving->messages);
  if (is_fast(demand)) return 2 * doublings(ranks) + (gathers_parameters(demand) ? ranks - 1 : 0);
  const double others = ranks - 1;
  return others + (floats * kFloatBytes > kRingBytes ? others : doublings(ranks));
}

/// How the ranks that add a gradient lie: those of a stage are neighbours, and of these every
/// demand.tensor-th has the same part of the layers.
struct GroupPlace {
  double nodes = 1;
  double ranks_of_node = 1;
  double groups_of_node = 1;  ///< that send at the same time
};

GroupPlace place_of(const StepDemand& demand, const ClusterFigures& cluster) {
  const int ranks = demand.data_ranks();
  const int stage = ranks * demand.tensor;
  GroupPlace place;
  if (cluster.ranks_per_node % stage != 0)
    place.nodes = std::max(2.0, static_cast<double>(stage) / cluster.ranks_per_node);
  place.ranks_of_node = ranks / place.nodes;
  place.groups_of_node = cluster.ranks_per_node / place.ranks_of_node;
  return place;
}

/// Small sums too. GPUs of one node exchange with all others at once.
bool may_halve(const StepDemand& demand, const ClusterFigures& cluster, const GroupPlace& place) {
  if (!demand.halving) return false;
  return !cluster.has_gpus() || (place.nodes > 1 && !demand.gathers_leaves);
}

/// Whoever keeps a part of the optimizer's state has a slice of the gradient.
bool halves_gradient(const StepDemand& demand, const ClusterFigures& cluster,
                     const GroupPlace& place) {
  return may_halve(demand, cluster, place) && !demand.shards_optimizer;
}

StepPrediction inside_a_node(const StepDemand& demand, const ClusterFigures& cluster) {
  constexpr int kMeetings = 2;  // gradients are there; parameters are updated
  StepPrediction sum;
  const double bytes = added_bytes(demand);
  const bool is_measured = cluster.node_sum && demand.stages.empty();
  sum.adding_s = is_measured ? cluster.node_sum->seconds(bytes)
                             : bytes / cluster.adding_bytes_per_s * cluster.turns;
  if (!is_measured) sum.meetings_s = kMeetings * cluster.meeting_s * cluster.turns;
  sum.batch_sums_s = demand.batch_sums * cluster.meeting_s * cluster.turns;
  return sum;
}

StepPrediction by_messages(const StepDemand& demand, const ClusterFigures& cluster) {
  const double ranks = demand.data_ranks();
  const GroupPlace place = place_of(demand, cluster);
  const double groups = place.groups_of_node;
  const double block = kFloatBytes * static_cast<double>(demand.floats);
  const double others = (ranks - 1) / ranks;
  const double elsewhere = (place.nodes - 1) / place.nodes;
  StepPrediction sum;
  const bool halves = halves_gradient(demand, cluster, place);
  sum.meetings_s =
      exchange_messages(demand, static_cast<double>(demand.floats), halves) * cluster.message_s;
  if (is_fast(demand)) {
    // Halving and doubling: a rank sends the block twice, most of it to another node.
    const double gathered = gathers_parameters(demand) ? block * others : 0;
    sum.rank_bytes = 2 * block * others + gathered;
    // GPUs: in a ring, which leaves a node once.
    const double halving = 2 * block * elsewhere * place.ranks_of_node;
    sum.node_bytes = groups * ((cluster.has_gpus() ? 2 * block * others : halving) + gathered);
    sum.all_bytes = sum.rank_bytes * ranks;
    sum.adding_s = block * others / cluster.adding_bytes_per_s;
  } else if (halves) {
    // The nearest ranks first: out of a node goes one block, there and back, where the node has a
    // power of two of ranks.
    const ExchangeLoad& load = *demand.halving;
    sum.rank_bytes = kFloatBytes * static_cast<double>(load.floats);
    sum.node_bytes =
        groups * (load.node_floats > 0 ? kFloatBytes * static_cast<double>(load.node_floats)
                                       : 2 * block * elsewhere);
    sum.all_bytes = load.all_floats > 0 ? kFloatBytes * static_cast<double>(load.all_floats)
                                        : 2 * block * (ranks - 1);
    // Half of what travels is added: two floats read, one written.
    sum.adding_s = 1.5 * sum.rank_bytes / cluster.adding_bytes_per_s;
  } else {
    const double partial_sums = demand.all_partial_sums / ranks;
    sum.rank_bytes = (demand.partial_sums + 1) * block * others;
    // Every slice to its owner; the sums in a ring, which leaves each node once.
    sum.node_bytes =
        groups * (place.ranks_of_node * partial_sums * block * elsewhere + block * others);
    sum.all_bytes = (partial_sums + 1) * block * others * ranks;
    sum.adding_s = added_bytes(demand) / cluster.adding_bytes_per_s;
  }
  if (place.nodes == 1) sum.node_bytes = 0;
  sum.network_s = sum.node_bytes > 0 ? sum.node_bytes / cluster.node_bytes_per_s : 0;
  sum.batch_sums_s = demand.batch_sums *
                     exchange_messages(demand, 1, may_halve(demand, cluster, place)) *
                     cluster.message_s;
  return sum;
}

/// The same between GPUs, bucket after bucket; what stays in a node goes over the links between
/// them while the rest is on the network.
StepPrediction by_gpus(const StepDemand& demand, const ClusterFigures& cluster) {
  const GroupPlace place = place_of(demand, cluster);
  StepPrediction sum = by_messages(demand, cluster);
  sum.meetings_s *= static_cast<double>(num_buckets(demand));
  const double others = place.ranks_of_node - 1;
  // By halving the first rounds are in the node, with most of the floats.
  const double here = halves_gradient(demand, cluster, place)
                          ? sum.rank_bytes * others / place.ranks_of_node
                          : sum.rank_bytes * others / (demand.data_ranks() - 1);
  sum.network_s = std::max(sum.network_s, here / cluster.link_bytes_per_s);
  return sum;
}

/// What of the sum of gradients runs beside the backward pass: not the last bucket.
double hidden_s(const StepDemand& demand, const StepPrediction& step) {
  const double sum = step.meetings_s + step.network_s + step.adding_s;
  const double last = sum / static_cast<double>(num_buckets(demand));
  return std::min(kBackward * step.compute_s, sum - last);
}

}  // namespace

std::int64_t num_buckets(const StepDemand& demand) {
  constexpr std::int64_t kFloats = BucketReducer::kBucketFloats;
  return std::max<std::int64_t>(1, ceil_div(demand.floats, kFloats));
}

double added_bytes(const StepDemand& demand) {
  const int ranks = demand.data_ranks();
  const int leaves = is_fast(demand) ? ranks : demand.all_partial_sums;
  return (leaves + 1.0) * kFloatBytes * static_cast<double>(demand.floats) / ranks;
}

StepPrediction predict_reduction(const StepDemand& demand, const ClusterFigures& cluster) {
  expect(demand.ranks >= 1 && demand.ranks % cluster.ranks_per_node == 0, "full nodes");
  if (demand.data_ranks() == 1) return {};
  if (cluster.has_gpus()) return by_gpus(demand, cluster);
  const bool is_inside = place_of(demand, cluster).nodes == 1;
  StepPrediction sum = is_inside ? inside_a_node(demand, cluster) : by_messages(demand, cluster);
  if (demand.stages.empty()) {
    sum.after_step_s = moved_bytes(demand, sum) * (is_inside ? cluster.node_after_step_s_per_byte
                                                             : cluster.after_step_s_per_byte);
  }
  return sum;
}

StepPrediction predict_step(const StepDemand& demand, const RankWork& rank,
                            const ClusterFigures& cluster) {
  StepPrediction step = predict_reduction(demand, cluster);
  if (demand.stages.empty())
    step.compute_s = rank.seconds(demand.samples / cluster.speed) * cluster.turns;
  else
    add_split_work(demand, rank, cluster, step);
  if (cluster.has_gpus()) step.hidden_s = hidden_s(demand, step);
  return step;
}

double efficiency(const StepDemand& demand, const StepPrediction& step, double times,
                  const StepDemand& fewest_nodes, const StepPrediction& step_of_fewest) {
  const double rate = demand.global_batch / step.step_s();
  return rate / times / (fewest_nodes.global_batch / step_of_fewest.step_s());
}

}  // namespace quern
