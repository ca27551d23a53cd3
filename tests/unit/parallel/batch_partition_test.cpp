// SPDX-License-Identifier: Apache-2.0
#include "parallel/batch_partition.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/error.hpp"

namespace quern {
namespace {

std::vector<int> samples_of_ranks(const BatchPartition& partition) {
  std::vector<int> samples;
  for (int rank = 0; rank < partition.num_ranks(); ++rank) {
    samples.push_back(partition.num_samples(rank));
  }
  return samples;
}

TEST(BatchPartition, DividesLikeTorchChunk) {
  EXPECT_EQ(samples_of_ranks({30, 1, 4}), (std::vector<int>{8, 8, 8, 6}));
  EXPECT_EQ(samples_of_ranks({10, 1, 4}), (std::vector<int>{3, 3, 3, 1}));
  EXPECT_EQ(samples_of_ranks({6, 1, 4}), (std::vector<int>{2, 2, 2, 0}));
  EXPECT_EQ(samples_of_ranks({1, 1, 3}), (std::vector<int>{1, 0, 0}));
}

TEST(BatchPartition, BlocksStayWhole) {
  EXPECT_EQ(samples_of_ranks({30, 4, 2}), (std::vector<int>{16, 14}));
  EXPECT_EQ(samples_of_ranks({30, 4, 3}), (std::vector<int>{12, 12, 6}));
  EXPECT_EQ(samples_of_ranks({30, 32, 2}), (std::vector<int>{30, 0}));
}

TEST(BatchPartition, EverySampleHasOneOwner) {
  for (int samples = 1; samples <= 40; ++samples) {
    for (int block = 1; block <= 9; ++block) {
      for (int ranks = 1; ranks <= 8; ++ranks) {
        const BatchPartition partition(samples, block, ranks);
        int next_block = 0;
        int next_sample = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          ASSERT_EQ(partition.first_block(rank), next_block);
          ASSERT_GE(partition.num_blocks(rank), 0);
          ASSERT_LE(partition.num_blocks(rank), partition.max_blocks());
          ASSERT_EQ(partition.first_sample(rank), next_sample);
          next_block = partition.last_block(rank);
          next_sample += partition.num_samples(rank);
        }
        ASSERT_EQ(next_block, partition.num_blocks());
        ASSERT_EQ(next_sample, samples);
        ASSERT_EQ(partition.num_blocks(0), partition.max_blocks());
      }
    }
  }
}

TEST(BatchPartition, TakesGivenShares) {
  const BatchPartition partition(30, 4, {5, 0, 3});
  EXPECT_EQ(samples_of_ranks(partition), (std::vector<int>{20, 0, 10}));
  EXPECT_EQ(partition.first_block(2), 5);
  EXPECT_EQ(partition.max_blocks(), 5);
  EXPECT_EQ(BatchPartition(30, 4, {3, 3, 2}), BatchPartition(30, 4, 3));
  EXPECT_THROW(BatchPartition(30, 4, {5, 2}), Error);
  EXPECT_THROW(BatchPartition(30, 4, {9, -1}), Error);
  EXPECT_THROW(BatchPartition(30, 4, std::vector<int>{}), Error);
}

TEST(BatchPartition, LargeNumbersDoNotOverflow) {
  const int most = std::numeric_limits<int>::max();
  const BatchPartition partition(most, 1'000'000, 3000);
  EXPECT_EQ(partition.num_blocks(), 2148);
  EXPECT_EQ(partition.first_block(2999), 2148);
  EXPECT_EQ(partition.first_sample(2999), most);
  EXPECT_EQ(partition.num_samples(2147), most % 1'000'000);
  EXPECT_EQ(BatchPartition(most, most, 1).num_blocks(), 1);
}

TEST(BatchPartition, RefusesNonsense) {
  EXPECT_THROW(BatchPartition(0, 1, 1), Error);
  EXPECT_THROW(BatchPartition(1, 0, 1), Error);
  EXPECT_THROW(BatchPartition(1, 1, 0), Error);
  EXPECT_THROW(BatchPartition(4, 1, 2).first_block(2), Error);
  EXPECT_THROW(BatchPartition(4, 1, 2).first_block(-1), Error);
}

}  // namespace
}  // namespace quern
