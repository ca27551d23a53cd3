// SPDX-License-Identifier: Apache-2.0
// Every rank updates what it owns and hands it to the others (Updaters::are_owners).
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "mpi/parallel/leaf_gradients.hpp"
#include "parallel/bucket_reducer.hpp"
#include "parallel/plain_reducer.hpp"
#include "parallel/reference/tree_sum.hpp"
#include "parallel/state_memory.hpp"
#include "parallel/tree_reducer.hpp"
#include "runtime/host_staged_transport.hpp"
#include "support/world.hpp"

namespace quern {
namespace {

using testing::leaf_gradients;
using testing::world;
using testing::write_sums;

constexpr std::int64_t kSums = 2;

using Reducer = std::unique_ptr<GradientReducer>;

// Calls run(reducer, order) for every reducer with owners, over so many floats.
void for_each_reducer(std::int64_t num_floats, const Updaters& updaters,
                      const std::function<void(GradientReducer&, SumOrder)>& run) {
  if (kHostExecution || world().size() == 1) {
    TreeReducer tree(world(), num_floats, kSums, updaters);
    SCOPED_TRACE("tree");
    run(tree, SumOrder::tree);
    PlainReducer plain(world(), num_floats, kSums, updaters);
    SCOPED_TRACE("plain");
    run(plain, SumOrder::ranks);
  }
  HostStagedTransport transport(world());
  for (const std::int64_t bucket : {1, 100, 1 << 20}) {
    for (const SumOrder order : {SumOrder::tree, SumOrder::ranks}) {
      SCOPED_TRACE("buckets of " + std::to_string(bucket));
      BucketReducer buckets(world(), transport, num_floats, order, kSums, bucket, updaters);
      run(buckets, order);
    }
  }
}

// Copies what this rank owns of `from` to `to`.
void copy_own(const GradientReducer& reducer, const ConstFloatView& from, const FloatView& to) {
  for (const BlockRange& own : reducer.own_ranges()) {
    const auto range = std::pair(own.begin, own.end);
    Kokkos::deep_copy(ExecSpace(), Kokkos::subview(to, range), Kokkos::subview(from, range));
  }
}

TEST(Owners, HaveEverythingBetweenThemOnce) {
  for (const std::int64_t num_gradient : {1, 16, 100, 1000, 5000}) {
    for (const std::int64_t unit : {16, 64}) {
      for_each_reducer(num_gradient + kSums, {true, unit}, [&](GradientReducer& reducer, SumOrder) {
        std::vector<int> owners(static_cast<std::size_t>(num_gradient));
        for (int rank = 0; rank < world().size(); ++rank) {
          std::int64_t last = 0;
          for (const BlockRange& range : reducer.ranges_of(rank)) {
            EXPECT_GE(range.begin, last);
            EXPECT_LT(range.begin, range.end);
            if (world().size() > 1) {
              EXPECT_EQ(range.begin % unit, 0);
            }
            last = range.end;
            for (std::int64_t i = range.begin; i < range.end; ++i)
              owners.at(static_cast<std::size_t>(i)) += 1;
          }
        }
        EXPECT_EQ(owners, std::vector<int>(owners.size(), 1));
        EXPECT_EQ(reducer.spreads_state(), world().size() > 1);
      });
    }
  }
}

TEST(Owners, HandOnWhatTheyUpdate) {
  for (const std::int64_t num_gradient : {1, 16, 100, 1000}) {
    const std::int64_t num_floats = num_gradient + kSums;
    for_each_reducer(num_floats, {true, kLanes}, [&](GradientReducer& reducer, SumOrder order) {
      const int num_blocks[] = {13, 2, 1};
      std::vector<ReductionPlan> plans;
      for (const int blocks : num_blocks)
        plans.push_back(reducer.add_plan(BatchPartition(blocks, 1, world().size())));
      reducer.allocate();
      const StateBlock block = StateMemory(world(), reducer).allocate("test::block", num_gradient);
      for (int round = 0; round < 6; ++round) {
        const auto turn = static_cast<std::size_t>(round % 3);
        const BatchPartition partition(num_blocks[turn], 1, world().size());
        write_sums(order, partition, world().rank(), reducer);
        Kokkos::deep_copy(reducer.vote(), world().rank() == round ? 1.0f : 0.0f);
        Kokkos::deep_copy(block.view, -1.0f);
        const ExecSpace exec;
        reducer.complete_from(exec, plans[turn], reducer.num_gradient());
        const ReducedGradient reduced = reducer.reduce_own_part(exec, plans[turn]);
        copy_own(reducer, reduced.total, block.view);
        reducer.publish_update(exec, block.view);
        reducer.wait(exec);

        const auto expected = reference::tree_sum(leaf_gradients(num_floats, 0, num_blocks[turn]));
        auto actual = test::to_vector(block.view);
        actual.resize(static_cast<std::size_t>(num_gradient));
        const auto sums = test::to_vector(reduced.sums);
        actual.insert(actual.end(), sums.begin(), sums.end());
        ASSERT_EQ(actual.size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
          if (order == SumOrder::tree)
            EXPECT_EQ(actual[i], expected[i]) << i;
          else
            EXPECT_NEAR(actual[i], expected[i], 0.5) << i;
        }
        EXPECT_EQ(test::only_value(reduced.votes), round < world().size() ? 1.0f : 0.0f);
      }
    });
  }
}

TEST(Owners, GatherEqualParts) {
  for_each_reducer(100, {true, kLanes}, [&](GradientReducer& reducer, SumOrder) {
    reducer.add_plan(BatchPartition(1, 1, world().size()));
    reducer.allocate();
    const auto ranks = static_cast<std::size_t>(world().size());
    const auto own = static_cast<std::size_t>(world().rank());
    const FloatView all("test::all", 3 * ranks);
    Kokkos::deep_copy(Kokkos::subview(all, std::pair(3 * own, 3 * own + 3)),
                      static_cast<float>(own + 1));
    if (reducer.spreads_state()) reducer.all_gather(ExecSpace(), all);
    reducer.wait(ExecSpace());
    std::vector<float> expected;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      expected.insert(expected.end(), 3, static_cast<float>(rank + 1));
    EXPECT_EQ(test::to_vector(all), expected);
  });
}

}  // namespace
}  // namespace quern
