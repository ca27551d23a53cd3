// SPDX-License-Identifier: Apache-2.0
#include "strategy/batch_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "dataset/permutation.hpp"
#include "strategy/step_kernels.hpp"
#include "support/expect_error.hpp"
#include "support/views.hpp"

namespace quern::test {

namespace {

struct Case {
  int count;          // samples of the data set
  int batch;          // at most count
  int block_samples;  // of a micro-block
  int row_multiple;
  int ranks;
  Determinism determinism = Determinism::rank_invariant;
};

// Samples in the order of the rows of all ranks, batch after batch; empty rows left out.
std::vector<std::int64_t> epoch_order(const Case& c, bool shuffle, std::int64_t epoch) {
  std::vector<std::int64_t> order;
  const BatchCut cut{c.block_samples, c.row_multiple, c.determinism};
  for (int cursor = 0; cursor < c.count; cursor += c.batch) {
    const int samples = std::min(c.batch, c.count - cursor);
    for (int rank = 0; rank < c.ranks; ++rank) {
      const BatchPlan full = make_batch_plan(cut, c.batch, rank, c.ranks);
      const BatchPlan plan = make_batch_plan(cut, samples, rank, c.ranks);
      EXPECT_LE(plan.rows(), full.limit().rows) << "what the model is allocated for";
      EXPECT_EQ(plan.rows() % c.row_multiple, 0);
      const StepScalarsView scalars("test::scalars");
      set_position(scalars, 11, {.epoch = epoch, .cursor = cursor});
      const View<std::int64_t> rows("test::rows", static_cast<std::size_t>(full.limit().rows));
      assign_rows(ExecSpace(), plan, {c.count, shuffle, {}, {}}, scalars, rows, {});
      int filled = 0;
      const std::vector<std::int64_t> values = to_vector(rows);
      for (int row = 0; row < plan.rows(); ++row) {
        const std::int64_t sample = values[static_cast<std::size_t>(row)];
        if (sample < 0) continue;
        order.push_back(sample);
        ++filled;
      }
      EXPECT_EQ(filled, plan.num_samples);
    }
  }
  return order;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& [count, batch] : std::vector<std::pair<int, int>>{
           {1, 1}, {7, 7}, {10, 4}, {23, 5}, {64, 64}, {100, 33}, {130, 48}}) {
    for (const int block : {1, 2, 3, 8, 32}) {
      for (const int multiple : {1, 16}) {
        for (const int ranks : {1, 2, 3, 4, 7}) {
          all.push_back({count, batch, std::min(block, batch), multiple, ranks});
        }
      }
    }
  }
  return all;
}

std::vector<std::int64_t> counting(int count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

TEST(BatchPlan, EpochInOrderMeetsEverySampleOnce) {
  for (const Case& c : cases()) {
    EXPECT_EQ(epoch_order(c, false, 2), counting(c.count))
        << c.count << " " << c.batch << " " << c.block_samples << " " << c.ranks;
  }
}

TEST(BatchPlan, ShuffledEpochIsThePermutationWhateverTheRanks) {
  for (const Case& c : cases()) {
    const Permutation permutation(11, 2, c.count);
    std::vector<std::int64_t> expected;
    for (int i = 0; i < c.count; ++i) expected.push_back(permutation(i));
    const std::vector<std::int64_t> order = epoch_order(c, true, 2);
    EXPECT_EQ(order, expected);
    std::vector<std::int64_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, counting(c.count));
  }
}

TEST(BatchPlan, FastModeDistributesTheSameSamples) {
  for (Case c : cases()) {
    c.determinism = Determinism::fast;
    EXPECT_EQ(epoch_order(c, false, 0), counting(c.count));
  }
}

TEST(BatchPlan, FastModeHasAtMostOnePartialSum) {
  const BatchCut cut{1, 1, Determinism::fast};
  EXPECT_EQ(make_batch_plan(cut, 5, 0, 2).schedule.num_partial_sums, 1);
  EXPECT_EQ(make_batch_plan(cut, 5, 1, 2).schedule.num_partial_sums, 1);
  EXPECT_EQ(make_batch_plan(cut, 2, 2, 3).schedule.num_partial_sums, 0);
}

// Samples of each group of kLanes rows.
std::vector<int> samples_of_groups(const BlockSchedule& schedule) {
  std::vector<int> samples;
  for (int group = 0; group < schedule.rows() / kLanes; ++group)
    samples.push_back(schedule.samples_of_group(group));
  return samples;
}

TEST(BatchPlan, KnowsWhichRowsHoldSamples) {
  const BatchCut cut{3, 16, Determinism::rank_invariant, 2};
  EXPECT_EQ(samples_of_groups(make_batch_plan(cut, 13, 0, 2).schedule), (std::vector{3, 3, 3}));
  EXPECT_EQ(samples_of_groups(make_batch_plan(cut, 13, 1, 2).schedule), (std::vector{3, 1}));
  EXPECT_EQ(make_batch_plan(cut, 13, 1, 2).schedule.first_group_of_few(2), 1);
  EXPECT_EQ(make_batch_plan(cut, 13, 1, 2).schedule.first_group_of_few(3), 0);
  EXPECT_EQ(make_batch_plan(cut, 13, 1, 2).schedule.first_group_of_few(0), 2);
  std::vector<int> of_pieces;
  for (const BatchPiece& piece : make_batch_pieces(cut, make_batch_plan(cut, 10, 0, 1), 0))
    for (const int samples : samples_of_groups(piece.plan.schedule)) of_pieces.push_back(samples);
  EXPECT_EQ(of_pieces, (std::vector{3, 3, 3, 1}));
  // Blocks of two groups.
  const BatchCut wide{20, 16, Determinism::fast};
  EXPECT_EQ(samples_of_groups(make_batch_plan(wide, 42, 0, 1).schedule),
            (std::vector{16, 4, 16, 4, 2, 0}));
  EXPECT_EQ(make_batch_plan(wide, 42, 0, 1).schedule.first_group_of_few(8), 3);
}

TEST(BatchPlan, SmallerBatchMayGiveARankMoreBlocks) {
  // Five blocks on four ranks: 2, 2, 1, 0. Four blocks: 1, 1, 1, 1.
  const BatchCut cut{2, 1, Determinism::rank_invariant};
  const BatchPlan full = make_batch_plan(cut, 10, 3, 4);
  EXPECT_EQ(full.rows(), 0);
  EXPECT_EQ(make_batch_plan(cut, 8, 3, 4).rows(), 2);
  EXPECT_EQ(full.limit().rows, 4);
}

TEST(BatchPlan, MoreBlocksThanTheTreeHoldsAreRefused) {
  const BatchCut cut{1, 1, Determinism::rank_invariant};
  expect_error([&] { make_batch_plan(cut, 1 << 20, 0, 4); }, ExitCode::bad_input,
               {"train.micro_block = 1", "1048576", "at most 1048575"});
}

}  // namespace quern::test
