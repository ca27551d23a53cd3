// SPDX-License-Identifier: Apache-2.0
#include "strategy/epoch_batches.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace quern::test {
namespace {

/// Micro-blocks of two samples.
BatchRule rule_of(std::int64_t num_samples, int batch, int micro_batches = 1) {
  BatchRule rule;
  rule.num_samples = num_samples;
  rule.global_batch = batch;
  rule.full_batch = batch;
  const auto rest = static_cast<int>(num_samples % batch);
  rule.last_batch = rest > 0 ? rest : batch;
  rule.block_samples = 2;
  rule.micro_batches = micro_batches;
  return rule;
}

/// Plans count from 0; keeps what they are for.
struct Reducer {
  ReductionPlan operator()(const BatchPartition& partition) {
    partitions.push_back(partition);
    return ReductionPlan{static_cast<int>(partitions.size()) - 1};
  }
  std::vector<BatchPartition> partitions;
};

TEST(EpochBatches, TheLastOneOfAnEpochIsShort) {
  const EpochBatches batches(rule_of(10, 4), 1, {});
  EXPECT_EQ(&batches.at(0), &batches.full());
  EXPECT_EQ(&batches.at(4), &batches.full());
  EXPECT_EQ(&batches.at(8), &batches.last());
  EXPECT_EQ(batches.full().samples(), 4);
  EXPECT_EQ(batches.last().samples(), 2);
}

TEST(EpochBatches, TheLastOneIsAFullOneWhereNothingIsLeftOver) {
  const EpochBatches batches(rule_of(8, 4), 1, {});
  EXPECT_EQ(&batches.at(4), &batches.full());
}

TEST(EpochBatches, PiecesAreInTheOrderOfTheStage) {
  const BatchRule rule = rule_of(24, 16, 4);  // the full batch has four pieces of two blocks
  const auto in_flight = [&](PipelineSchedule schedule, int stage) {
    return EpochBatches(rule, 1, {.stage = {stage, 2}, .schedule = schedule}).room().in_flight;
  };
  EXPECT_EQ(in_flight(PipelineSchedule::one_forward_one_backward, 0), 2);
  EXPECT_EQ(in_flight(PipelineSchedule::one_forward_one_backward, 1), 1);
  EXPECT_EQ(in_flight(PipelineSchedule::gpipe, 0), 4);
  const EpochBatches first(rule, 1, {.stage = {0, 2}});
  EXPECT_EQ(first.full().num_pieces(), 4);
  EXPECT_EQ(first.full().order,
            pipeline_order(PipelineSchedule::one_forward_one_backward, {0, 2}, 4));
  EXPECT_EQ(first.room().limit.rows, 4) << "two blocks of a piece, two samples each";
}

// Three blocks from a multiple of three on are two nodes of the tree.
TEST(EpochBatches, TellHowManyPartialSumsARankHandsOver) {
  EXPECT_EQ(EpochBatches(rule_of(24, 24), 1, {0, 3}).most_partial_sums(), 1);
  EXPECT_EQ(EpochBatches(rule_of(18, 18), 1, {0, 3}).most_partial_sums(), 2);
  EXPECT_EQ(EpochBatches(rule_of(24 + 18, 24), 1, {0, 3}).most_partial_sums(), 2) << "the last one";
  EXPECT_EQ(EpochBatches(rule_of(18, 18), 1, {0, 3}).most_piece_sums(), 1);
}

TEST(EpochBatches, PlanTheFullBatchBeforeTheLast) {
  EpochBatches batches(rule_of(10, 4), 1, {});
  Reducer reducer;
  batches.plan_reductions(std::ref(reducer));
  ASSERT_EQ(reducer.partitions.size(), 2U);
  EXPECT_EQ(reducer.partitions[0].samples(), 4);
  EXPECT_EQ(batches.full().reduction, ReductionPlan{0});
  EXPECT_EQ(batches.last().reduction, ReductionPlan{1});
}

TEST(EpochBatches, TakeSharesAndKnowThoseOfBefore) {
  EpochBatches batches(rule_of(24 + 10, 24), 1, {1, 2});
  Reducer reducer;
  batches.plan_reductions(std::ref(reducer));
  const PlannedBatch& equal = batches.full();
  EXPECT_EQ(equal.plan.num_samples, 12);

  batches.take_shares({8, 4}, std::ref(reducer));
  EXPECT_EQ(batches.full().plan.num_samples, 8);
  EXPECT_EQ(batches.full().reduction, ReductionPlan{2});
  EXPECT_EQ(&batches.at(0), &batches.full());
  EXPECT_EQ(equal.plan.num_samples, 12) << "a step that is under way keeps its batch";
  EXPECT_EQ(batches.last().reduction, ReductionPlan{1});

  batches.take_shares({6, 6}, std::ref(reducer));
  EXPECT_EQ(&batches.full(), &equal);
  batches.take_shares({8, 4}, std::ref(reducer));
  EXPECT_EQ(batches.full().reduction, ReductionPlan{2});
  EXPECT_EQ(reducer.partitions.size(), 3U);
}

TEST(EpochBatches, HaveRoomForTheLargestShare) {
  const EpochBatches batches(rule_of(24, 24), 16, {0, 2});  // blocks of two samples in 16 rows
  EXPECT_EQ(batches.room().limit.rows, 6 * 16);
  EXPECT_EQ(batches.room(9).limit.rows, 9 * 16);
  EXPECT_EQ(batches.room(3).limit.rows, 6 * 16);
}

}  // namespace
}  // namespace quern::test
