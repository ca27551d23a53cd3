// SPDX-License-Identifier: Apache-2.0
// Through shared memory the gradient gets the bits that it gets by messages. Host memory only:
// where kernels run on a device, these tests skip themselves.
#include "parallel/shared_memory_reducer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "mpi/parallel/leaf_gradients.hpp"
#include "parallel/make_reducer.hpp"
#include "parallel/reference/tree_sum.hpp"
#include "parallel/state_memory.hpp"
#include "support/world.hpp"

namespace quern {
namespace {

using test::only_value;
using test::to_vector;
using testing::leaf_gradients;
using testing::vote_and_reduce;
using testing::world;
using testing::write_one_partial;
using testing::write_tree_partial_sums;

void expect_bits(const ConstFloatView& total, const std::vector<float>& expected,
                 const std::string& what) {
  const std::vector<float> actual = to_vector(total);
  ASSERT_EQ(actual.size(), expected.size());
  if (expected.empty()) return;  // no place in memory to compare
  EXPECT_EQ(std::memcmp(actual.data(), expected.data(), expected.size() * sizeof(float)), 0)
      << what;
}

// Rank after rank, each rank's blocks in a tree of their own.
std::vector<float> sum_of_ranks(const BatchPartition& partition, const GradientReducer& reducer) {
  const auto size = static_cast<std::size_t>(reducer.partial_stride());
  const GradientSums one{FloatView("one", size), reducer.partial_stride()};
  std::vector<float> sum;
  for (int rank = 0; rank < partition.num_ranks(); ++rank) {
    const int count = partition.num_blocks(rank);
    if (count == 0) continue;
    testing::write_partial_sums(leaf_gradients(reducer.num_floats(), partition.first_block(rank),
                                               partition.last_block(rank)),
                                BlockTree(count).traverse_blocks(0, count), one);
    std::vector<float> part = to_vector(one.data);
    part.resize(static_cast<std::size_t>(reducer.num_floats()));
    if (sum.empty()) sum.resize(part.size(), 0.0f);
    for (std::size_t i = 0; i < part.size(); ++i) sum[i] = rank == 0 ? part[i] : sum[i] + part[i];
  }
  return sum;
}

class SharedMemoryReducers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!SharedMemoryReducer::is_possible(world())) GTEST_SKIP() << "ranks of several nodes";
  }
};

TEST_F(SharedMemoryReducers, HaveTheBitsOfMessages) {
  for (const std::int64_t num_floats : {1, 3, 17, 1000, 4099}) {
    for (int num_blocks = 1; num_blocks <= 40; num_blocks += num_floats > 1000 ? 13 : 3) {
      const BatchPartition partition(num_blocks * 4 - 1, 4, world().size());
      SharedMemoryReducer shared(world(), num_floats, SumOrder::tree);
      const auto messages = make_message_reducer(world(), num_floats, SumOrder::tree);
      const ReductionPlan plan = shared.add_plan(partition);
      messages->add_plan(partition);
      shared.allocate();
      messages->allocate();
      write_tree_partial_sums(partition, world().rank(), *messages);
      const auto expected = to_vector(messages->reduce(ExecSpace(), plan).total);
      // Again and again: what an earlier round left behind must not count.
      for (int round = 0; round < 3; ++round) {
        write_tree_partial_sums(partition, world().rank(), shared);
        const ReducedGradient reduced = vote_and_reduce(shared, plan, 0.0f);
        expect_bits(
            reduced.total, expected,
            std::to_string(num_blocks) + " blocks, " + std::to_string(num_floats) + " floats");
        EXPECT_EQ(only_value(reduced.votes), 0.0f);
      }
    }
  }
}

TEST_F(SharedMemoryReducers, AddRankAfterRankWhenFast) {
  for (const std::int64_t num_floats : {1, 17, 1000}) {
    for (int num_blocks = 1; num_blocks <= 11; ++num_blocks) {
      const BatchPartition partition(num_blocks, 1, world().size());
      SharedMemoryReducer reducer(world(), num_floats, SumOrder::ranks);
      const ReductionPlan plan = reducer.add_plan(partition);
      reducer.allocate();
      write_one_partial(partition, world().rank(), reducer);
      expect_bits(reducer.reduce(ExecSpace(), plan).total, sum_of_ranks(partition, reducer),
                  std::to_string(num_blocks) + " blocks");
    }
  }
}

TEST_F(SharedMemoryReducers, CountTheVotesOfAllRanksAlsoWithoutBlocks) {
  for (const int num_blocks : {1, 3, 13}) {
    const BatchPartition partition(num_blocks, 1, world().size());
    SharedMemoryReducer reducer(world(), 40, SumOrder::tree);
    const ReductionPlan plan = reducer.add_plan(partition);
    reducer.allocate();
    for (int voters = world().size(); voters >= 0; --voters) {
      const float vote = world().size() - world().rank() <= voters ? 1.0f : 0.0f;
      write_tree_partial_sums(partition, world().rank(), reducer);
      EXPECT_EQ(only_value(vote_and_reduce(reducer, plan, vote).votes), static_cast<float>(voters))
          << num_blocks << " blocks";
    }
  }
}

// Ranks of different speed: whoever is early must not overwrite what others still read.
TEST_F(SharedMemoryReducers, WaitForEachOtherWithFullAndShortBatches) {
  const std::int64_t num_floats = 2000;
  const BatchPartition full(13, 1, world().size());
  const BatchPartition last(2, 1, world().size());
  SharedMemoryReducer reducer(world(), num_floats, SumOrder::tree);
  const ReductionPlan full_plan = reducer.add_plan(full);
  const ReductionPlan last_plan = reducer.add_plan(last);
  reducer.allocate();
  const auto expect_total = [&](const ConstFloatView& total, float factor) {
    int wrong = 0;
    for (std::size_t i = 0; i < total.extent(0); ++i) wrong += total(i) != factor;
    EXPECT_EQ(wrong, 0);
  };
  for (int round = 0; round < 200; ++round) {
    const bool is_last = round % 5 == 4;
    const int count = reducer.num_partial_sums(is_last ? last : full, world().rank());
    const auto value = static_cast<float>(round + 1);
    for (int p = 0; p < count; ++p) {
      for (std::int64_t i = 0; i < num_floats; ++i) {
        reducer.partial_sums().data(p * reducer.partial_stride() + i) = value;
      }
    }
    const auto total = reducer.reduce(ExecSpace(), is_last ? last_plan : full_plan).total;
    int num_partial_sums = 0;
    for (int rank = 0; rank < world().size(); ++rank) {
      num_partial_sums += reducer.num_partial_sums(is_last ? last : full, rank);
    }
    volatile int work = 0;  // some ranks dawdle before they read
    for (int i = 0; i < 20000 * ((world().rank() + round) % 3); ++i) work = work + 1;
    expect_total(total, value * static_cast<float>(num_partial_sums));
  }
}

// As in training: the ranks update an array that they share, each its part.
TEST_F(SharedMemoryReducers, LetEachRankUpdateItsPart) {
  for (const std::int64_t num_gradient : {1, 16, 100, 1000}) {
    const std::int64_t num_floats = num_gradient + 2;
    const BatchPartition partition(13, 1, world().size());
    SharedMemoryReducer reducer(world(), num_floats, SumOrder::tree, 2);
    const ReductionPlan plan = reducer.add_plan(partition);
    reducer.allocate();
    const StateBlock block = StateMemory(world(), reducer).allocate("test::block", num_gradient);
    const auto expected = reference::tree_sum(leaf_gradients(num_floats, 0, 13));
    for (int round = 1; round <= 20; ++round) {
      write_tree_partial_sums(partition, world().rank(), reducer);
      const ReducedGradient reduced = reducer.reduce_own_part(ExecSpace(), plan);
      expect_bits(reduced.sums, {expected.end() - 2, expected.end()}, "sums");
      for (const BlockRange& own : reducer.own_ranges()) {
        for (std::int64_t i = own.begin; i < own.end; ++i)
          block.view(i) = reduced.total(i) * static_cast<float>(round);
      }
      reducer.publish_update(ExecSpace(), block.view);
      std::vector<float> scaled(expected.begin(), expected.end() - 2);
      for (float& value : scaled) value *= static_cast<float>(round);
      expect_bits(block.view, scaled, std::to_string(num_gradient) + " floats");
      reducer.publish_update(ExecSpace(),
                             block.view);  // training reads in the next step, before its sums
    }
  }
}

// What reduce_and_update() hands over, into an array that the ranks share.
struct Scaled final : ParameterUpdater {
  FloatView block;
  float factor = 0;

  explicit Scaled(const FloatView& to) : block(to) {}

  void update_pieces(std::int64_t begin, std::int64_t end, const float* gradient) const override {
    for (std::int64_t i = begin; i < end; ++i) block(i) = gradient[i - begin] * factor;
  }
};

// In front of `num_updated` the update has the gradient; after it, where statistics lie, the total.
TEST_F(SharedMemoryReducers, HandTheGradientToTheUpdate) {
  for (const std::int64_t num_gradient : {16, 100, 5000}) {
    for (const std::int64_t num_updated : {std::int64_t{0}, num_gradient / 32 * 16, num_gradient}) {
      const std::int64_t num_floats = num_gradient + 2;
      const BatchPartition partition(13, 1, world().size());
      SharedMemoryReducer reducer(world(), num_floats, SumOrder::tree, 2);
      EXPECT_TRUE(reducer.updates_parameters());
      const ReductionPlan plan = reducer.add_plan(partition);
      reducer.allocate();
      const StateBlock block = StateMemory(world(), reducer).allocate("test::block", num_gradient);
      const auto expected = reference::tree_sum(leaf_gradients(num_floats, 0, 13));
      Scaled scaled(block.view);
      for (int round = 1; round <= 10; ++round) {
        scaled.factor = static_cast<float>(round);
        write_tree_partial_sums(partition, world().rank(), reducer);
        int calls = 0;
        const ReducedGradient reduced = reducer.reduce_and_update(
            ExecSpace(), plan, num_updated, [&](const ConstFloatView& sums) {
              ++calls;
              expect_bits(sums, {expected.end() - 2, expected.end()}, "sums for the update");
              return ParameterUpdate{&scaled, block.view.data()};
            });
        EXPECT_EQ(calls, 1);
        expect_bits(reduced.sums, {expected.end() - 2, expected.end()}, "sums");
        for (const BlockRange& own : reducer.own_ranges()) {
          const std::int64_t begin = std::clamp(num_updated, own.begin, own.end);
          expect_bits(Kokkos::subview(reduced.total, std::pair(begin, own.end)),
                      {expected.begin() + begin, expected.begin() + own.end}, "total");
        }
        reducer.publish_update(ExecSpace(), block.view);
        std::vector<float> updated(static_cast<std::size_t>(num_gradient));
        for (std::size_t i = 0; i < static_cast<std::size_t>(num_updated); ++i)
          updated[i] = expected[i] * scaled.factor;
        expect_bits(block.view, updated, std::to_string(num_updated) + " floats");
        reducer.publish_update(ExecSpace(), block.view);
      }
    }
  }
}

TEST(GradientReducers, ByMessagesUpdateEverythingEverywhere) {
  for (const SumOrder order : {SumOrder::tree, SumOrder::ranks}) {
    const auto reducer = make_message_reducer(world(), 12, order, 2);
    const ReductionPlan plan = reducer->add_plan(BatchPartition(1, 1, world().size()));
    reducer->allocate();
    EXPECT_EQ(reducer->own_ranges(), (std::vector<BlockRange>{{0, 10}}));
    EXPECT_FALSE(reducer->spreads_state());
    std::vector<float> values(12);
    std::iota(values.begin(), values.end(), 0.0f);
    test::overwrite(reducer->partial_sums().data, values);
    const ReducedGradient reduced = reducer->reduce_own_part(ExecSpace(), plan);
    values.resize(10);
    EXPECT_EQ(to_vector(reduced.total), values);
    EXPECT_EQ(to_vector(reduced.sums), (std::vector<float>{10.0f, 11.0f}));
    reducer->publish_update(ExecSpace(), {});
  }
  EXPECT_THROW(make_message_reducer(world(), 2, SumOrder::tree, 2), Error);
}

TEST_F(SharedMemoryReducers, AreWhatRanksOfOneNodeGet) {
  const std::string text = make_reducer(world(), nullptr, 10, SumOrder::tree)->describe();
  if (world().size() == 1) {
    EXPECT_EQ(text, "none: one rank has each batch");
  } else {
    EXPECT_EQ(text,
              "through shared memory, " + std::to_string(world().size()) + " ranks of one node");
  }
  const std::string messages = world().size() == 1
                                   ? "none: one rank has each batch"
                                   : "by messages, " + std::to_string(world().size()) + " ranks";
  EXPECT_EQ(make_message_reducer(world(), 10, SumOrder::tree)->describe(), messages);
  // Far more partial sums than memory.
  EXPECT_EQ(
      make_reducer(world(), nullptr, 1 << 20, SumOrder::tree, 0, {}, {1 << 30, 1})->describe(),
      messages);
}

}  // namespace
}  // namespace quern
