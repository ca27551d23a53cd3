// SPDX-License-Identifier: Apache-2.0
#include "plan/split_model.hpp"

#include <algorithm>
#include <numeric>

namespace quern {

namespace {

/// Ranks of a node that send over a border to another node at once; 0: all stages are on one.
int ranks_at_border(const StepDemand& demand, const ClusterFigures& cluster) {
  if (demand.ranks <= cluster.ranks_per_node) return 0;
  return std::min(cluster.ranks_per_node, demand.data_ranks() * demand.tensor);
}

/// Seconds of `count` messages with so many bytes together, which a rank sends over a border.
double border_s(const StepDemand& demand, int count, double bytes, const ClusterFigures& cluster) {
  const int ranks = ranks_at_border(demand, cluster);
  if (ranks == 0) return count * cluster.node_message_s + bytes / cluster.node_message_bytes_per_s;
  return count * cluster.message_s + bytes * ranks / cluster.node_bytes_per_s;
}

/// What a stage waits for in a piece: the messages that it sends, or those that come, which are
/// under way at the same time.
double crossing_s(const StepDemand& demand, std::size_t stage, const ClusterFigures& cluster) {
  const bool has_before = stage > 0;
  const bool has_next = stage + 1 < demand.stages.size();
  const StageDemand& own = demand.stages[stage];
  const double sent = own.sent_forward + own.sent_backward;
  double received = 0;
  if (has_before) received += demand.stages[stage - 1].sent_forward;
  if (has_next) received += demand.stages[stage + 1].sent_backward;
  const int count = (has_before ? 1 : 0) + (has_next ? 1 : 0);
  return border_s(demand, count, std::max(sent, received), cluster);
}

/// And the exchanges of the ranks that share its layers, which are on one node.
double exchange_s(const StepDemand& demand, const StageDemand& stage,
                  const ClusterFigures& cluster) {
  if (demand.tensor == 1) return 0;
  return stage.exchanges * (demand.tensor - 1) * cluster.node_message_s +
         stage.exchanged_bytes / cluster.node_message_bytes_per_s;
}

}  // namespace

double pipeline_s(const std::vector<double>& stage_s, int pieces) {
  const double first = std::accumulate(stage_s.begin(), stage_s.end(), 0.0);
  return first + (pieces - 1) * *std::ranges::max_element(stage_s);
}

void add_split_work(const StepDemand& demand, const RankWork& rank, const ClusterFigures& cluster,
                    StepPrediction& step) {
  const double samples = demand.samples / cluster.speed;
  std::vector<double> computing, with_crossing, with_layers;
  double sent = 0;
  double crossing_nodes = 0;
  for (std::size_t i = 0; i < demand.stages.size(); ++i) {
    const StageDemand& stage = demand.stages[i];
    computing.push_back(rank.stage_seconds(i, stage.work, samples) / demand.pieces);
    with_crossing.push_back(computing.back() + crossing_s(demand, i, cluster));
    with_layers.push_back(with_crossing.back() + exchange_s(demand, stage, cluster));
    const double crossing = demand.pieces * (stage.sent_forward + stage.sent_backward);
    sent = std::max(sent, crossing + demand.pieces * stage.exchanged_bytes);
    crossing_nodes = std::max(crossing_nodes, crossing * ranks_at_border(demand, cluster));
  }
  step.node_bytes += crossing_nodes;
  step.rank_bytes += sent;
  // Ranks that take turns on the cores: no core idles while another stage has work.
  const double mean = std::accumulate(computing.begin(), computing.end(), 0.0) /
                      static_cast<double>(computing.size()) * demand.pieces * cluster.turns;
  const double busy = *std::ranges::max_element(computing) * demand.pieces;
  const double pipeline = pipeline_s(computing, demand.pieces);
  step.compute_s = std::max(busy, mean);
  step.idle_s = std::max(0.0, pipeline - step.compute_s);
  step.crossing_s = pipeline_s(with_crossing, demand.pieces) - pipeline;
  step.layers_s = pipeline_s(with_layers, demand.pieces) - pipeline_s(with_crossing, demand.pieces);
}

}  // namespace quern
