// SPDX-License-Identifier: Apache-2.0
#include "dataset/permutation.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace quern {
namespace {

std::vector<std::int64_t> positions(std::uint64_t seed, std::uint32_t epoch, std::int64_t count) {
  const Permutation permutation(seed, epoch, count);
  std::vector<std::int64_t> samples;
  for (std::int64_t i = 0; i < count; ++i) samples.push_back(permutation(i));
  return samples;
}

TEST(Permutation, IsABijectionForAnyCount) {
  for (const std::int64_t count : {1, 2, 3, 4, 5, 17, 256, 257, 60000, 65535, 65536, 65537}) {
    for (const std::uint32_t epoch : {0u, 1u, 4000000000u}) {
      std::vector<bool> seen(static_cast<std::size_t>(count), false);
      for (const std::int64_t sample : positions(7, epoch, count)) {
        ASSERT_GE(sample, 0);
        ASSERT_LT(sample, count);
        ASSERT_FALSE(seen[static_cast<std::size_t>(sample)]) << count << " " << sample;
        seen[static_cast<std::size_t>(sample)] = true;
      }
    }
  }
}

TEST(Permutation, SideBySideIsTheSame) {
  for (const std::int64_t count : {std::int64_t{1}, std::int64_t{5}, std::int64_t{1000},
                                   std::int64_t{60000}, (std::int64_t{1} << 40) + 5}) {
    const Permutation permutation(99, 7, count);
    std::int64_t position[Permutation::kWidth];
    std::int64_t sample[Permutation::kWidth];
    for (int round = 0; round < 50; ++round) {
      for (int i = 0; i < Permutation::kWidth; ++i) {
        position[i] = (count / 2 + 7919 * round + 31 * i) % count;
      }
      permutation.map(position, sample);
      for (int i = 0; i < Permutation::kWidth; ++i) {
        ASSERT_EQ(sample[i], permutation(position[i])) << count << " " << position[i];
      }
    }
  }
}

// Two random permutations of n have one fixed position in common on average.
TEST(Permutation, DiffersByEpochAndSeed) {
  const auto common = [](const auto& a, const auto& b) {
    int equal = 0;
    for (std::size_t i = 0; i < a.size(); ++i) equal += a[i] == b[i] ? 1 : 0;
    return equal;
  };
  const auto first = positions(0, 0, 60000);
  EXPECT_LT(common(first, positions(0, 1, 60000)), 10);
  EXPECT_LT(common(first, positions(1, 0, 60000)), 10);
  EXPECT_LT(common(first, positions(std::uint64_t{1} << 40, 0, 60000)), 10);
  EXPECT_EQ(first, positions(0, 0, 60000));
}

// Chi-square over the pairs of samples at the first two positions, scaled so that 1 is expected.
double pair_statistic(int count) {
  constexpr int kEpochs = 40000;
  std::vector<int> hits(static_cast<std::size_t>(count * count), 0);
  for (std::uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
    const Permutation permutation(3, epoch, count);
    ++hits[static_cast<std::size_t>(permutation(0) * count + permutation(1))];
  }
  const int pairs = count * (count - 1);
  const double expected = kEpochs / static_cast<double>(pairs);
  double chi_square = 0;
  for (int first = 0; first < count; ++first) {
    for (int second = 0; second < count; ++second) {
      const int hit = hits[static_cast<std::size_t>(first * count + second)];
      if (first != second) chi_square += (hit - expected) * (hit - expected) / expected;
    }
  }
  return chi_square / (pairs - 1);
}

TEST(Permutation, AllPairsAreEquallyLikely) {
  EXPECT_LT(pair_statistic(5), 2.0);
  EXPECT_LT(pair_statistic(10), 1.5);
  EXPECT_LT(pair_statistic(20), 1.25);
}

// Neighbours must not stay neighbours: the mean distance of a random permutation is n / 3.
TEST(Permutation, NeighboursAreSpread) {
  const auto samples = positions(5, 2, 60000);
  double sum = 0;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    sum += static_cast<double>(std::abs(samples[i] - samples[i - 1]));
  }
  EXPECT_NEAR(sum / 59999, 20000, 250);
}

TEST(Permutation, CountsBeyond32Bits) {
  const std::int64_t count = (std::int64_t{1} << 40) + 5;
  const Permutation permutation(1, 0, count);
  for (std::int64_t i = count - 1000; i < count; ++i) {
    EXPECT_GE(permutation(i), 0);
    EXPECT_LT(permutation(i), count);
  }
}

// The order of an epoch is part of every result that anybody reproduces: it must never change.
TEST(Permutation, KnownAnswers) {
  EXPECT_EQ(positions(0, 0, 10), (std::vector<std::int64_t>{9, 2, 4, 8, 1, 3, 6, 5, 0, 7}));
  const Permutation permutation(42, 3, 60000);
  EXPECT_EQ(permutation(0), 55934);
  EXPECT_EQ(permutation(1), 40341);
  EXPECT_EQ(permutation(5), 53967);
}

}  // namespace
}  // namespace quern
