// SPDX-License-Identifier: Apache-2.0
// Plans for GPUs, against sums done by hand. No GPU was asked.
#include <gtest/gtest.h>

#include "plan/scaling_model.hpp"

namespace quern::test {

namespace {

/// `floats` of gradient on nodes of four GPUs.
StepDemand demand_on(int nodes, std::int64_t floats) {
  StepDemand demand;
  demand.ranks = 4 * nodes;
  demand.samples = 64;
  demand.global_batch = demand.ranks * demand.samples;
  demand.partial_sums = 1;
  demand.all_partial_sums = demand.ranks;
  demand.floats = floats;
  return demand;
}

ClusterFigures gpus() {
  ClusterFigures cluster;
  cluster.ranks_per_node = 4;
  cluster.adding_bytes_per_s = 1000e9;
  cluster.message_s = 10e-6;
  cluster.node_bytes_per_s = 100e9;
  cluster.link_bytes_per_s = 200e9;
  return cluster;
}

RankWork taking(double seconds) {
  return MeasuredLine({{64, seconds}});
}

constexpr std::int64_t kBucket = std::int64_t{1} << 20;

}  // namespace

TEST(GpuPlan, BucketsOnANodeGoOverItsLinks) {
  const StepDemand demand = demand_on(1, 4 * kBucket);
  EXPECT_EQ(num_buckets(demand), 4);
  EXPECT_EQ(num_buckets(demand_on(1, 4 * kBucket + 1)), 5);
  EXPECT_EQ(num_buckets(demand_on(1, 1)), 1);
  const StepPrediction step = predict_step(demand, taking(30e-3), gpus());
  const double block = 4.0 * 4 * kBucket;
  EXPECT_DOUBLE_EQ(step.meetings_s, 4 * 6 * 10e-6);
  // Three fourths of two blocks, all over the links.
  EXPECT_DOUBLE_EQ(step.network_s, 2 * block * 3 / 4 / 200e9);
  EXPECT_DOUBLE_EQ(step.adding_s, 5 * block / 4 / 1000e9);
  EXPECT_EQ(step.node_bytes, 0);
  // Two thirds of 30 ms are longer than three of the four buckets.
  const double sum = step.meetings_s + step.network_s + step.adding_s;
  EXPECT_DOUBLE_EQ(step.hidden_s, sum - sum / 4);
  EXPECT_NEAR(step.step_s(), 30e-3 + sum / 4, 1e-15);
}

TEST(GpuPlan, TheLastBucketIsNeverHidden) {
  const StepPrediction step = predict_step(demand_on(2, kBucket), taking(1), gpus());
  EXPECT_EQ(step.hidden_s, 0);
  EXPECT_GT(step.reduction_s(), 0);
}

TEST(GpuPlan, NoMoreIsHiddenThanTheBackwardPassTakes) {
  const StepPrediction step = predict_step(demand_on(8, 100 * kBucket), taking(3e-3), gpus());
  EXPECT_DOUBLE_EQ(step.hidden_s, 2e-3);
}

TEST(GpuPlan, FastSumsLeaveANodeOnceInARing) {
  StepDemand demand = demand_on(2, kBucket);
  demand.determinism = Determinism::fast;
  const double block = 4.0 * kBucket;
  const StepPrediction step = predict_reduction(demand, gpus());
  EXPECT_DOUBLE_EQ(step.node_bytes, 2 * block * 7 / 8);
  EXPECT_DOUBLE_EQ(step.network_s, 2 * block * 7 / 8 / 100e9);
}

TEST(GpuPlan, ProcessorsHideNothing) {
  ClusterFigures cluster = gpus();
  cluster.link_bytes_per_s = 0;
  EXPECT_EQ(predict_step(demand_on(2, 4 * kBucket), taking(1), cluster).hidden_s, 0);
}

}  // namespace quern::test
