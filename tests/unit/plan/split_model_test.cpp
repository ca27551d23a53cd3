// SPDX-License-Identifier: Apache-2.0
// Stages of a pipeline and parts of layers, against sums done by hand.
#include "plan/split_model.hpp"

#include <gtest/gtest.h>

#include "strategy/pipeline_order.hpp"

namespace quern::test {

namespace {

/// 60 % of the work and 40 %; a megabyte of a piece each way.
StepDemand two_stages(int data_ranks, int pieces) {
  StepDemand demand;
  demand.ranks = 2 * data_ranks;
  demand.samples = 64;
  demand.global_batch = data_ranks * demand.samples;
  demand.pieces = pieces;
  demand.partial_sums = 1;
  demand.all_partial_sums = data_ranks;
  demand.floats = 1000000;
  demand.stages.resize(2);
  demand.stages[0].work = 0.6;
  demand.stages[0].sent_forward = 1e6;
  demand.stages[1].work = 0.4;
  demand.stages[1].sent_backward = 1e6;
  return demand;
}

StepDemand two_parts() {
  StepDemand demand;
  demand.ranks = 2;
  demand.samples = 64;
  demand.global_batch = 64;
  demand.tensor = 2;
  demand.stages.resize(1);
  demand.stages[0].work = 0.5;
  demand.stages[0].exchanges = 7;
  demand.stages[0].exchanged_bytes = 1e6;
  return demand;
}

ClusterFigures cluster_of(int ranks_per_node) {
  ClusterFigures cluster;
  cluster.ranks_per_node = ranks_per_node;
  cluster.adding_bytes_per_s = 10e9;
  cluster.message_s = 20e-6;
  cluster.node_bytes_per_s = 1e9;
  cluster.node_message_s = 2e-6;
  cluster.node_message_bytes_per_s = 5e9;
  return cluster;
}

RankWork ten_ms() {
  return MeasuredLine({{64, 10e-3}});
}

}  // namespace

TEST(SplitModel, APipelineWaitsForItsFirstPieceAndGoesAtThePaceOfTheSlowest) {
  EXPECT_DOUBLE_EQ(pipeline_s({2, 3}, 4), 2 + 3 + 3 * 3);
  EXPECT_DOUBLE_EQ(pipeline_s({2, 5, 3}, 1), 10);
  EXPECT_DOUBLE_EQ(pipeline_s({2}, 4), 8);
  // Of equal stages what each does, and the bubble (Huang et al. 2019).
  for (const int stages : {2, 3, 8}) {
    for (const int pieces : {1, 4, 16}) {
      const std::vector<double> equal(static_cast<std::size_t>(stages), 1.0);
      EXPECT_NEAR(pipeline_s(equal, pieces), pieces / (1 - pipeline_bubble(stages, pieces)), 1e-12);
    }
  }
}

TEST(SplitModel, TwoStagesOnANodeByHand) {
  const StepPrediction step = predict_step(two_stages(1, 4), ten_ms(), cluster_of(2));
  EXPECT_DOUBLE_EQ(step.compute_s, 6e-3);
  // A piece is 1.5 ms of the first stage and 1 ms of the second: 2.5 and three times 1.5.
  EXPECT_DOUBLE_EQ(step.idle_s, 1e-3);
  // Each stage sends while it receives, 202 us a piece; the first piece has both, the others one.
  EXPECT_NEAR(step.crossing_s, 5 * 202e-6, 1e-12);
  EXPECT_EQ(step.layers_s, 0);
  EXPECT_EQ(step.reduction_s(), 0);
  EXPECT_NEAR(step.step_s(), 6e-3 + 1e-3 + 1.01e-3, 1e-12);
  EXPECT_DOUBLE_EQ(step.rank_bytes, 4e6);
  EXPECT_EQ(step.node_bytes, 0);
}

TEST(SplitModel, StagesOnTwoNodesSendOverTheNetworkAndAddInside) {
  const StepPrediction step = predict_step(two_stages(2, 4), ten_ms(), cluster_of(2));
  // Both ranks of a node send at once: 20 us, and 2 MB at 1 GB/s.
  EXPECT_NEAR(step.crossing_s, 5 * 2020e-6, 1e-12);
  EXPECT_DOUBLE_EQ(step.node_bytes, 2 * 4e6);
  // Two ranks of a stage share memory: a half of three blocks each.
  EXPECT_DOUBLE_EQ(step.adding_s, 3 * 4e6 / 2 / 10e9);
  EXPECT_EQ(step.network_s, 0);
}

TEST(SplitModel, AStageOnTwoNodesAddsOverTheNetwork) {
  const StepPrediction step = predict_step(two_stages(4, 4), ten_ms(), cluster_of(2));
  const double block = 4e6;
  // A half of two blocks to the other node of the stage, and a ring of its four ranks.
  EXPECT_DOUBLE_EQ(step.network_s, (2 * block / 2 + block * 3 / 4) / 1e9);
  EXPECT_DOUBLE_EQ(step.meetings_s, 6 * 20e-6);
  EXPECT_DOUBLE_EQ(step.node_bytes, 2 * block / 2 + block * 3 / 4 + 2 * 4e6);
}

TEST(SplitModel, PartsOfLayersExchangeOnTheirNode) {
  const StepPrediction step = predict_step(two_parts(), ten_ms(), cluster_of(2));
  EXPECT_DOUBLE_EQ(step.compute_s, 5e-3);
  EXPECT_NEAR(step.layers_s, 7 * 2e-6 + 1e6 / 5e9, 1e-12);
  EXPECT_EQ(step.idle_s, 0);
  EXPECT_EQ(step.crossing_s, 0);
  EXPECT_DOUBLE_EQ(step.rank_bytes, 1e6);
}

TEST(SplitModel, WhatWasMeasuredOfEachStageCountsInPlaceOfItsShare) {
  const RankWork work({MeasuredLine({{64, 8e-3}}), MeasuredLine({{64, 4e-3}})});
  const StepPrediction step = predict_step(two_stages(1, 4), work, cluster_of(2));
  EXPECT_DOUBLE_EQ(step.compute_s, 8e-3);
  EXPECT_DOUBLE_EQ(step.idle_s, 1e-3);
}

TEST(SplitModel, NoCoreIdlesWhereStagesTakeTurns) {
  ClusterFigures cluster = cluster_of(2);
  cluster.turns = 2;
  // One core does all of it.
  const StepPrediction step = predict_step(two_stages(1, 4), ten_ms(), cluster);
  EXPECT_DOUBLE_EQ(step.compute_s, 10e-3);
  EXPECT_EQ(step.idle_s, 0);
}

}  // namespace quern::test
