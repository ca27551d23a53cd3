// SPDX-License-Identifier: Apache-2.0
// What devices do, with kernels on the host and floats moved by MPI: the bits are those of the
// tree, however the gradient is cut into buckets and whenever they start.
#include "parallel/bucket_reducer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.hpp"
#include "mpi/parallel/leaf_gradients.hpp"
#include "parallel/make_reducer.hpp"
#include "parallel/reference/tree_sum.hpp"
#include "runtime/host_staged_transport.hpp"
#include "support/lone_nodes.hpp"
#include "support/world.hpp"

namespace quern {
namespace {

using testing::leaf_gradients;
using testing::vote_and_reduce;
using testing::world;
using testing::write_one_partial;
using testing::write_sums;
using testing::write_tree_partial_sums;

constexpr std::int64_t kSums = 2;

std::vector<float> expected_total(const BatchPartition& partition, std::int64_t num_floats) {
  return reference::tree_sum(leaf_gradients(num_floats, 0, partition.num_blocks()));
}

// The gradient and the sums after it.
std::vector<float> floats_of(const ReducedGradient& reduced) {
  std::vector<float> all = test::to_vector(reduced.total);
  const std::vector<float> sums = test::to_vector(reduced.sums);
  all.insert(all.end(), sums.begin(), sums.end());
  return all;
}

void expect_bits(const ReducedGradient& reduced, const std::vector<float>& expected,
                 const std::string& what) {
  const std::vector<float> actual = floats_of(reduced);
  ASSERT_EQ(actual.size(), expected.size());
  EXPECT_EQ(std::memcmp(actual.data(), expected.data(), expected.size() * sizeof(float)), 0)
      << what;
}

// An MPI may add in another order each time (MPICH does), so SumOrder::ranks promises no bits.
void expect_the_same(SumOrder order, const std::vector<float>& actual,
                     const std::vector<float>& expected) {
  if (order == SumOrder::tree) {
    EXPECT_EQ(actual, expected);
    return;
  }
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], 1e-5 * (1 + std::abs(expected[i])));
}

// A transport that counts what is asked of it.
class CountingTransport final : public DeviceTransport {
 public:
  int rank() const override { return staged_.rank(); }
  int size() const override { return staged_.size(); }
  const char* name() const override { return "counting"; }
  bool is_capturable() const override { return true; }
  void all_reduce_sum(std::span<float> values, DeviceStream stream) override {
    ++exchanges;
    staged_.all_reduce_sum(values, stream);
  }
  void all_gather(std::span<float> all, DeviceStream stream) override {
    ++exchanges;
    staged_.all_gather(all, stream);
  }
  void all_gather_v(std::span<float> all, std::span<const std::int64_t> counts,
                    DeviceStream stream) override {
    ++exchanges;
    staged_.all_gather_v(all, counts, stream);
  }
  void all_to_all_v(std::span<const float> send, std::span<const Segment> send_to,
                    std::span<float> receive, std::span<const Segment> receive_from,
                    DeviceStream stream) override {
    ++exchanges;
    staged_.all_to_all_v(send, send_to, receive, receive_from, stream);
  }
  void send_and_receive(std::span<const float> send, std::span<const RankSegment> to,
                        std::span<float> receive, std::span<const RankSegment> from,
                        DeviceStream stream) override {
    ++exchanges;
    staged_.send_and_receive(send, to, receive, from, stream);
  }
  void check() override {
    if (fails) throw Error("a broken link");
  }
  void abort() noexcept override { ++aborted; }

  int exchanges = 0;
  bool fails = false;
  int aborted = 0;

 private:
  HostStagedTransport staged_{world()};
};

TEST(BucketReducer, HasTheBitsOfTheTree) {
  HostStagedTransport transport(world());
  for (const std::int64_t num_floats : {3, 17, 1000, 4099}) {
    for (const std::int64_t bucket_floats : {1, 500, 100000}) {
      for (int num_blocks = 1; num_blocks <= 40; num_blocks += num_floats > 1000 ? 13 : 3) {
        const BatchPartition partition(num_blocks * 4 - 1, 4, world().size());
        BucketReducer reducer(world(), transport, num_floats, SumOrder::tree, kSums, bucket_floats);
        const ReductionPlan plan = reducer.add_plan(partition);
        reducer.allocate();
        // Again and again: what an earlier round left behind must not count.
        for (int round = 0; round < 2; ++round) {
          write_tree_partial_sums(partition, world().rank(), reducer);
          const ReducedGradient reduced = vote_and_reduce(reducer, plan, 0.0f);
          expect_bits(reduced, expected_total(partition, num_floats),
                      std::to_string(num_blocks) + " blocks, " + std::to_string(num_floats) +
                          " floats in buckets of " + std::to_string(bucket_floats));
          EXPECT_EQ(test::only_value(reduced.votes), 0.0f);
        }
      }
    }
  }
}

// As many nodes as ranks, so that devices halve where there are enough of them.
TEST(BucketReducer, HasTheBitsOfTheTreeBetweenNodes) {
  testing::LoneNodes nodes(world());
  HostStagedTransport transport(world());
  for (const std::int64_t num_floats : {3, 17, 1000, 4099}) {
    for (const std::int64_t bucket_floats : {1, 500, 100000}) {
      const BatchPartition full(8 * world().size(), 1, world().size());
      const BatchPartition last(3, 1, world().size());
      BucketReducer reducer(nodes, transport, num_floats, SumOrder::tree, kSums, bucket_floats);
      reducer.reserve(3);
      const ReductionPlan full_plan = reducer.add_plan(full);
      const ReductionPlan last_plan = reducer.add_plan(last);
      reducer.allocate();
      for (int round = 0; round < 2; ++round) {
        for (const auto& [plan, partition] : {std::pair(full_plan, full), {last_plan, last}}) {
          write_tree_partial_sums(partition, world().rank(), reducer);
          const ReducedGradient reduced = vote_and_reduce(reducer, plan, 1.0f);
          expect_bits(reduced, expected_total(partition, num_floats),
                      std::to_string(num_floats) + " floats in buckets of " +
                          std::to_string(bucket_floats));
          EXPECT_EQ(test::only_value(reduced.votes), static_cast<float>(world().size()));
        }
      }
    }
  }
}

TEST(BucketReducer, SendsInRoundsBetweenNodesAndToAllAtOnceInsideOfOne) {
  const int ranks = world().size();
  testing::LoneNodes nodes(world());
  const BatchPartition partition(ranks, 1, ranks);
  for (const bool between_nodes : {false, true}) {
    CountingTransport transport;
    BucketReducer reducer(between_nodes ? static_cast<Communicator&>(nodes) : world(), transport,
                          1000, SumOrder::tree, kSums);
    const ReductionPlan plan = reducer.add_plan(partition);
    reducer.allocate();
    write_tree_partial_sums(partition, world().rank(), reducer);
    vote_and_reduce(reducer, plan, 0.0f);
    // The sums, and one bucket.
    const auto halving = make_lighter_halving(partition, 1000 - kSums, world().rank());
    const int rounds = halving && between_nodes ? static_cast<int>(halving->rounds.size()) : 1;
    EXPECT_EQ(transport.exchanges, ranks == 1 ? 0 : 1 + 2 * rounds) << between_nodes;
    EXPECT_EQ(ranks >= 4, halving.has_value());
  }
}

// The sum of 11 blocks' gradients of 1000 floats, in buckets of 128.
struct ElevenBlocks {
  BatchPartition partition{11, 1, world().size()};
  SumOrder order;
  BucketReducer reducer;
  ReductionPlan plan;

  ElevenBlocks(DeviceTransport& transport, SumOrder given)
      : order(given),
        reducer(world(), transport, 1000 + kSums, order, kSums, 128),
        plan(reducer.add_plan(partition)) {
    reducer.allocate();
  }
  void write() const { write_sums(order, partition, world().rank(), reducer); }
};

// As in a backward pass: the gradient becomes complete from its end on, here and there in the
// middle of a bucket, and what is below is junk until then.
TEST(BucketReducer, StartsBucketsWhenTheyAreComplete) {
  CountingTransport transport;
  for (const SumOrder order : {SumOrder::tree, SumOrder::ranks}) {
    ElevenBlocks sum(transport, order);
    BucketReducer& reducer = sum.reducer;
    sum.write();
    const std::vector<float> expected = floats_of(vote_and_reduce(reducer, sum.plan, 0.0f));

    sum.write();
    const std::vector<float> good = test::to_vector(reducer.partial_sums().data);
    const int num_partial_sums = reducer.num_partial_sums(sum.partition, world().rank());
    const auto restore_from = [&](std::int64_t offset) {
      std::vector<float> floats = good;
      for (int p = 0; p < num_partial_sums; ++p) {
        std::fill_n(floats.begin() + p * reducer.partial_stride(), offset, -7.0f);
      }
      test::overwrite(reducer.partial_sums().data, floats);
    };
    int before = transport.exchanges = 0;
    for (const std::int64_t offset : {1000, 900, 890, 512, 500, 16, 0}) {
      // What was handed over may be overwritten when sums are formed in place.
      if (order == SumOrder::tree) restore_from(offset);
      reducer.complete_from(ExecSpace(), sum.plan, offset);
      if (offset == 1000 && world().size() > 1) {
        EXPECT_EQ(transport.exchanges, 1) << "the sums travel at once";
      }
      if (offset == 512) before = transport.exchanges;
    }
    const ReducedGradient reduced = reducer.reduce(ExecSpace(), sum.plan);
    if (world().size() > 1) {
      EXPECT_GT(before, 1) << "the last buckets travel before the first are there";
      EXPECT_LT(before, transport.exchanges);
    } else {
      EXPECT_EQ(transport.exchanges, 0);
    }
    expect_the_same(order, floats_of(reduced), expected);
  }
}

TEST(BucketReducer, AddsSumsAloneInOneExchange) {
  CountingTransport transport;
  for (const SumOrder order : {SumOrder::tree, SumOrder::ranks}) {
    ElevenBlocks sum(transport, order);
    BucketReducer& reducer = sum.reducer;
    sum.write();
    const auto expected = test::to_vector(vote_and_reduce(reducer, sum.plan, 0.0f).sums);
    for (int round = 0; round < 2; ++round) {
      sum.write();
      transport.exchanges = 0;
      expect_the_same(order, test::to_vector(reducer.reduce_sums(ExecSpace(), sum.plan)), expected);
      EXPECT_EQ(transport.exchanges, world().size() > 1 ? 1 : 0);
    }
    sum.write();
    expect_the_same(order, test::to_vector(vote_and_reduce(reducer, sum.plan, 0.0f).sums),
                    expected);
  }
}

TEST(BucketReducer, AddsAllBlocksWhenFast) {
  HostStagedTransport transport(world());
  for (const std::int64_t num_floats : {3, 17, 1000}) {
    for (int num_blocks = 1; num_blocks <= 11; ++num_blocks) {
      const BatchPartition partition(num_blocks, 1, world().size());
      BucketReducer reducer(world(), transport, num_floats, SumOrder::ranks, kSums, 128);
      const ReductionPlan plan = reducer.add_plan(partition);
      reducer.allocate();
      const auto leaves = leaf_gradients(num_floats, 0, num_blocks);
      for (int round = 0; round < 2; ++round) {
        write_one_partial(partition, world().rank(), reducer);
        const ReducedGradient reduced = vote_and_reduce(reducer, plan, 1.0f);
        EXPECT_EQ(test::only_value(reduced.votes), static_cast<float>(world().size()));
        const std::vector<float> actual = floats_of(reduced);
        for (std::size_t i = 0; i < actual.size(); ++i) {
          double sum = 0;
          double magnitude = 0;
          for (const std::vector<float>& leaf : leaves) {
            sum += leaf[i];
            magnitude += std::abs(leaf[i]);
          }
          EXPECT_NEAR(actual[i], sum, 1e-5 * magnitude);
        }
      }
    }
  }
}

TEST(BucketReducer, CountsTheVotesOfAllRanksAlsoWithoutBlocks) {
  HostStagedTransport transport(world());
  for (const SumOrder order : {SumOrder::tree, SumOrder::ranks}) {
    for (const int num_blocks : {1, 3, 13}) {
      const BatchPartition partition(num_blocks, 1, world().size());
      BucketReducer reducer(world(), transport, 40, order, kSums);
      const ReductionPlan plan = reducer.add_plan(partition);
      reducer.allocate();
      for (int voters = world().size(); voters >= 0; --voters) {
        const float vote = world().size() - world().rank() <= voters ? 1.0f : 0.0f;
        write_sums(order, partition, world().rank(), reducer);
        EXPECT_EQ(test::only_value(vote_and_reduce(reducer, plan, vote).votes),
                  static_cast<float>(voters))
            << num_blocks << " blocks";
      }
    }
  }
}

TEST(BucketReducer, TakesTurnsBetweenFullAndShortBatches) {
  HostStagedTransport transport(world());
  const std::int64_t num_floats = 333;
  const BatchPartition full(64, 3, world().size());
  const BatchPartition last(7, 3, world().size());
  BucketReducer reducer(world(), transport, num_floats, SumOrder::tree, kSums, 64);
  const ReductionPlan full_plan = reducer.add_plan(full);
  const ReductionPlan last_plan = reducer.add_plan(last);
  reducer.allocate();
  for (int round = 0; round < 3; ++round) {
    write_tree_partial_sums(full, world().rank(), reducer);
    expect_bits(vote_and_reduce(reducer, full_plan, 0), expected_total(full, num_floats), "full");
    write_tree_partial_sums(last, world().rank(), reducer);
    expect_bits(vote_and_reduce(reducer, last_plan, 0), expected_total(last, num_floats), "last");
  }
}

TEST(BucketReducer, FailureOfOneRankIsHeardByAll) {
  if (world().size() == 1) GTEST_SKIP() << "several ranks only";
  CountingTransport transport;
  BucketReducer reducer(world(), transport, 10, SumOrder::tree);
  reducer.wait(ExecSpace());
  const int culprit = world().size() - 1;
  transport.fails = world().rank() == culprit;
  try {
    reducer.wait(ExecSpace());
    ADD_FAILURE() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::failure);
    EXPECT_NE(std::string(error.what()).find("rank " + std::to_string(culprit) + " on "),
              std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("a broken link"), std::string::npos);
  }
  EXPECT_EQ(transport.aborted, transport.fails ? 1 : 0);
}

TEST(BucketReducer, IsWhatATransportAsksFor) {
  CountingTransport transport;
  const auto reducer = make_reducer(world(), &transport, 10, SumOrder::tree);
  EXPECT_TRUE(reducer->is_capturable());
  EXPECT_EQ(reducer->describe(),
            world().size() == 1
                ? "none: one rank has each batch"
                : "counting, " + std::to_string(world().size()) + " ranks, 1 bucket");
}

}  // namespace
}  // namespace quern
