// SPDX-License-Identifier: Apache-2.0
#include "bench/scaling_model.hpp"

#include <bit>

#include "base/assert.hpp"

namespace quern {

namespace {

constexpr double kFloat = sizeof(float);
// Open MPI gathers more than so many bytes in a ring, fewer by doubling (Bruck):
// ompi/mca/coll/tuned, total size of allgatherv.
constexpr double kRingBytes = 81920;

bool is_fast(const StepDemand& demand) {
  return demand.determinism == Determinism::fast;
}

double doublings(int ranks) {
  return std::bit_width(static_cast<unsigned>(ranks - 1));
}

/// Starts of messages that a rank waits for, one after the other.
double exchange_messages(const StepDemand& demand, double floats) {
  if (is_fast(demand)) return 2 * doublings(demand.ranks);
  const double others = demand.ranks - 1;
  return others + (floats * kFloat > kRingBytes ? others : doublings(demand.ranks));
}

StepPrediction inside_a_node(const StepDemand& demand, const ClusterFigures& cluster) {
  constexpr int kMeetings = 2;  // gradients are there; parameters are updated
  StepPrediction sum;
  if (demand.ranks == 1) return sum;
  const double bytes = added_bytes(demand);
  sum.adding_s = cluster.node_sum ? cluster.node_sum->seconds(bytes)
                                  : bytes / cluster.adding_bytes_per_s * cluster.turns;
  if (!cluster.node_sum) sum.meetings_s = kMeetings * cluster.meeting_s * cluster.turns;
  sum.batch_sums_s = demand.batch_sums * cluster.meeting_s * cluster.turns;
  return sum;
}

StepPrediction by_messages(const StepDemand& demand, const ClusterFigures& cluster) {
  const double ranks = demand.ranks;
  const double nodes = ranks / cluster.ranks_per_node;
  const double block = kFloat * static_cast<double>(demand.floats);
  const double others = (ranks - 1) / ranks;
  const double elsewhere = (nodes - 1) / nodes;
  StepPrediction sum;
  sum.meetings_s =
      exchange_messages(demand, static_cast<double>(demand.floats)) * cluster.message_s;
  if (is_fast(demand)) {
    // Halving and doubling: twice the block, most of it over the network.
    sum.rank_bytes = 2 * block * others;
    sum.node_bytes = 2 * block * elsewhere * cluster.ranks_per_node;
    sum.all_bytes = sum.rank_bytes * ranks;
    sum.adding_s = block * others / cluster.adding_bytes_per_s;
  } else {
    const double partial_sums = demand.all_partial_sums / ranks;
    sum.rank_bytes = (demand.partial_sums + 1) * block * others;
    // Every slice to its owner; the sums in a ring, which leaves each node once.
    sum.node_bytes = cluster.ranks_per_node * partial_sums * block * elsewhere + block * others;
    sum.all_bytes = (partial_sums + 1) * block * others * ranks;
    sum.adding_s = added_bytes(demand) / cluster.adding_bytes_per_s;
  }
  sum.network_s = sum.node_bytes / cluster.node_bytes_per_s;
  sum.batch_sums_s = demand.batch_sums * exchange_messages(demand, 1) * cluster.message_s;
  return sum;
}

}  // namespace

double added_bytes(const StepDemand& demand) {
  const int leaves = is_fast(demand) ? demand.ranks : demand.all_partial_sums;
  return (leaves + 1.0) * kFloat * static_cast<double>(demand.floats) / demand.ranks;
}

StepPrediction predict_reduction(const StepDemand& demand, const ClusterFigures& cluster) {
  expect(demand.ranks >= 1 && demand.ranks % cluster.ranks_per_node == 0, "full nodes");
  return demand.ranks == cluster.ranks_per_node ? inside_a_node(demand, cluster)
                                                : by_messages(demand, cluster);
}

StepPrediction predict_step(const StepDemand& demand, const MeasuredLine& rank,
                            const ClusterFigures& cluster) {
  StepPrediction step = predict_reduction(demand, cluster);
  step.compute_s = rank.seconds(demand.samples / cluster.speed) * cluster.turns;
  return step;
}

double efficiency(const StepDemand& demand, const StepPrediction& step, int nodes,
                  const StepDemand& one_node, const StepPrediction& step_of_one_node) {
  const double rate = demand.global_batch / step.step_s();
  return rate / nodes / (one_node.global_batch / step_of_one_node.step_s());
}

}  // namespace quern
