// SPDX-License-Identifier: Apache-2.0
// The model of docs/scaling.md against its own limits, and against sums done by hand.
#include "plan/scaling_model.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace quern::test {

namespace {

StepDemand demand_on(int ranks, int blocks_per_rank = 1) {
  StepDemand demand;
  demand.ranks = ranks;
  demand.blocks = ranks * blocks_per_rank;
  demand.block_samples = 32;
  demand.samples = 32 * blocks_per_rank;
  demand.global_batch = ranks * demand.samples;
  demand.partial_sums = 1;
  demand.all_partial_sums = ranks;
  demand.floats = 1000000;
  return demand;
}

ClusterFigures cluster_of(int ranks_per_node) {
  ClusterFigures cluster;
  cluster.ranks_per_node = ranks_per_node;
  cluster.adding_bytes_per_s = 10e9;
  cluster.message_s = 2e-6;
  cluster.node_bytes_per_s = 12.5e9;
  return cluster;
}

const MeasuredLine& rank_line() {
  static const MeasuredLine line({{32, 10e-3}, {64, 18e-3}});
  return line;
}

}  // namespace

TEST(MeasuredLine, GoesThroughItsPointsAndOn) {
  const MeasuredLine line({{64, 18e-3}, {32, 10e-3}, {128, 36e-3}, {32, 11e-3}});
  EXPECT_DOUBLE_EQ(line.seconds(32), 10e-3);  // the fastest
  EXPECT_DOUBLE_EQ(line.seconds(48), 14e-3);
  EXPECT_DOUBLE_EQ(line.seconds(64), 18e-3);
  EXPECT_NEAR(line.seconds(256), 72e-3, 1e-9);
  EXPECT_NEAR(line.seconds(8), 4e-3, 1e-9);
  const MeasuredLine one({{32, 10e-3}});
  EXPECT_DOUBLE_EQ(one.seconds(8), 2.5e-3);
  EXPECT_DOUBLE_EQ(one.seconds(320), 100e-3);
  // A rank that is slow with more samples is not quicker than nothing with few.
  const MeasuredLine steep({{32, 1e-3}, {64, 10e-3}});
  EXPECT_DOUBLE_EQ(steep.seconds(16), 0.5e-3);
  EXPECT_GT(steep.seconds(1), 0);
}

TEST(ScalingModel, OneRankSendsNothingAndWaitsForNobody) {
  const StepPrediction step = predict_step(demand_on(1), rank_line(), cluster_of(1));
  EXPECT_DOUBLE_EQ(step.step_s(), 10e-3);
  EXPECT_EQ(step.reduction_s(), 0);
  EXPECT_EQ(step.rank_bytes, 0);
  EXPECT_EQ(step.all_bytes, 0);
}

TEST(ScalingModel, OneNodeSendsNothingOverTheNetwork) {
  const StepPrediction step = predict_step(demand_on(4), rank_line(), cluster_of(4));
  EXPECT_EQ(step.node_bytes, 0);
  EXPECT_EQ(step.all_bytes, 0);
  EXPECT_EQ(step.network_s, 0);
  // Each reads a fourth of four partial sums, and writes a fourth.
  EXPECT_DOUBLE_EQ(step.adding_s, 5 * 4e6 / 4 / 10e9);
  EXPECT_DOUBLE_EQ(step.meetings_s, 4e-6);
}

TEST(ScalingModel, ASumByHandOnFourNodesOfTwoRanks) {
  const StepPrediction step = predict_step(demand_on(8), rank_line(), cluster_of(2));
  const double block = 4e6;
  EXPECT_DOUBLE_EQ(step.rank_bytes, 2 * block * 7 / 8);
  // Two ranks send three fourths of their block to other nodes; the ring leaves the node once.
  EXPECT_DOUBLE_EQ(step.node_bytes, 2 * block * 3 / 4 + block * 7 / 8);
  EXPECT_DOUBLE_EQ(step.network_s, step.node_bytes / 12.5e9);
  EXPECT_DOUBLE_EQ(step.meetings_s, 14 * 2e-6);
  EXPECT_DOUBLE_EQ(step.adding_s, 9 * block / 8 / 10e9);
  EXPECT_DOUBLE_EQ(step.compute_s, 10e-3);
  EXPECT_DOUBLE_EQ(step.step_s(),
                   step.compute_s + step.meetings_s + step.network_s + step.adding_s);
}

TEST(ScalingModel, MoreNodesNeverSendFewerBytesOrMeetLess) {
  for (const Determinism determinism : {Determinism::rank_invariant, Determinism::fast}) {
    for (const int ranks_per_node : {1, 2, 8}) {
      StepPrediction before;
      for (int nodes = 1; nodes <= 1024; nodes *= 2) {
        StepDemand demand = demand_on(nodes * ranks_per_node);
        demand.determinism = determinism;
        const StepPrediction step = predict_step(demand, rank_line(), cluster_of(ranks_per_node));
        EXPECT_GE(step.all_bytes, before.all_bytes) << nodes;
        EXPECT_GE(step.node_bytes, before.node_bytes) << nodes;
        if (nodes > 2) {
          EXPECT_GE(step.meetings_s, before.meetings_s) << nodes;
        }
        before = step;
      }
    }
  }
}

TEST(ScalingModel, MorePartialSumsCostMoreThanOneAndFastSumsHaveOne) {
  StepDemand three = demand_on(16, 3);
  three.partial_sums = 2;
  three.all_partial_sums = 2 * 16;
  const ClusterFigures cluster = cluster_of(2);
  const StepPrediction one = predict_reduction(demand_on(16, 3), cluster);
  const StepPrediction more = predict_reduction(three, cluster);
  EXPECT_GT(more.rank_bytes, one.rank_bytes);
  EXPECT_GT(more.adding_s, one.adding_s);
  three.determinism = Determinism::fast;
  EXPECT_LT(predict_reduction(three, cluster).rank_bytes, more.rank_bytes);
}

TEST(ScalingModel, AFasterRankTakesLongForMoreAndTurnsTakeTurns) {
  ClusterFigures cluster = cluster_of(1);
  cluster.speed = 2;
  StepDemand demand = demand_on(1, 2);
  EXPECT_DOUBLE_EQ(predict_step(demand, rank_line(), cluster).compute_s, 10e-3);
  cluster.speed = 1;
  cluster.turns = 2;
  EXPECT_DOUBLE_EQ(predict_step(demand, rank_line(), cluster).compute_s, 36e-3);
}

TEST(ScalingModel, ASumAfterAStepTakesLongerByWhatItMoves) {
  ClusterFigures cluster = cluster_of(2);
  cluster.after_step_s_per_byte = 1e-10;
  cluster.node_after_step_s_per_byte = 3e-10;
  const StepPrediction step = predict_step(demand_on(8), rank_line(), cluster);
  const double block = 4e6;
  // Sent: two blocks but the own eighth. Added: eight eighths, and one is written.
  EXPECT_DOUBLE_EQ(step.after_step_s, (2 * block * 7 / 8 + block * 9 / 8) * 1e-10);
  EXPECT_DOUBLE_EQ(
      step.step_s(),
      step.after_step_s + predict_step(demand_on(8), rank_line(), cluster_of(2)).step_s());
  // Inside a node nothing is sent.
  EXPECT_DOUBLE_EQ(predict_step(demand_on(2), rank_line(), cluster).after_step_s,
                   block * 3 / 2 * 3e-10);
  cluster.ranks_per_node = 1;
  EXPECT_EQ(predict_step(demand_on(1), rank_line(), cluster).after_step_s, 0);
}

TEST(ScalingModel, SumsInsideOfLayersAreLatency) {
  StepDemand demand = demand_on(64);
  demand.batch_sums = 60;
  const ClusterFigures cluster = cluster_of(2);
  // 63 messages to the owners and six doublings, sixty times.
  EXPECT_DOUBLE_EQ(predict_reduction(demand, cluster).batch_sums_s, 60 * 69 * 2e-6);
  const StepDemand none = demand_on(64);
  EXPECT_EQ(predict_reduction(none, cluster).batch_sums_s, 0);
}

TEST(ScalingModel, HalvingTakesItsMessagesAndLeavesANodeOnceEachWay) {
  StepDemand demand = demand_on(64);
  const ClusterFigures cluster = cluster_of(16);
  const double block = 4e6;
  const StepPrediction slices = predict_reduction(demand, cluster);
  demand.halving = ExchangeLoad{12, 2 * 1000000 * 63 / 64};
  demand.batch_sums = 3;
  const StepPrediction halved = predict_reduction(demand, cluster);
  EXPECT_DOUBLE_EQ(halved.meetings_s, 12 * cluster.message_s);
  EXPECT_DOUBLE_EQ(halved.batch_sums_s, 3 * 12 * cluster.message_s);
  EXPECT_DOUBLE_EQ(halved.node_bytes, 2 * block * 3 / 4);
  EXPECT_DOUBLE_EQ(halved.all_bytes, 2 * block * 63);
  EXPECT_NEAR(halved.rank_bytes, slices.rank_bytes, 4);
  EXPECT_LT(halved.network_s, slices.network_s);
  demand.halving->node_floats =
      5000000;  // as counted, of a number of ranks that is no power of two
  EXPECT_DOUBLE_EQ(predict_reduction(demand, cluster).node_bytes, 2e7);
  // Whoever has a part of the optimizer's state has a slice of the gradient.
  demand.shards_optimizer = true;
  EXPECT_EQ(predict_reduction(demand, cluster).meetings_s, slices.meetings_s);
  EXPECT_EQ(predict_reduction(demand, cluster).batch_sums_s, halved.batch_sums_s);
}

TEST(ScalingModel, GpusHalveBetweenNodesAlone) {
  ClusterFigures cluster = cluster_of(4);
  cluster.link_bytes_per_s = 1e11;
  const auto messages_s = [&](int ranks, bool halves) {
    StepDemand demand = demand_on(ranks);
    if (halves) demand.halving = ExchangeLoad{12, 2000000};
    return predict_reduction(demand, cluster).meetings_s;
  };
  EXPECT_EQ(messages_s(4, true), messages_s(4, false));
  EXPECT_DOUBLE_EQ(messages_s(64, true), 12 * cluster.message_s);
  StepDemand demand = demand_on(64);
  demand.halving = ExchangeLoad{12, 2000000};
  demand.gathers_leaves = true;  // that they do not
  EXPECT_EQ(predict_reduction(demand, cluster).meetings_s, messages_s(64, false));
}

TEST(ScalingModel, EfficiencyIsThatOfOneNodeWhereNothingIsLost) {
  const StepDemand one = demand_on(2);
  const StepDemand many = demand_on(64);
  StepPrediction step;
  step.compute_s = 1e-3;
  EXPECT_DOUBLE_EQ(efficiency(many, step, 32, one, step), 1);
  StepPrediction slower = step;
  slower.network_s = 1e-3;
  EXPECT_DOUBLE_EQ(efficiency(many, slower, 32, one, step), 0.5);
  // The same batch on twice the nodes in the same time: half.
  StepDemand same = one;
  same.ranks = 4;
  EXPECT_DOUBLE_EQ(efficiency(same, step, 2, one, step), 0.5);
}

}  // namespace quern::test
