// SPDX-License-Identifier: Apache-2.0
// Many ranks, each an array: what they would send is added and handed on here.
#include "parallel/halving.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <map>
#include <numeric>

#include "parallel/reference/tree_sum.hpp"
#include "support/leaf_values.hpp"

namespace quern {
namespace {

using testing::leaf_gradients;

using Vectors = std::vector<std::vector<float>>;

/// Ranks that take turns: each goes as far as what it has been sent lets it.
class Simulation {
 public:
  Simulation(const BatchPartition& partition, std::int64_t num_floats) {
    for (int rank = 0; rank < partition.num_ranks(); ++rank) {
      const auto own =
          leaf_gradients(num_floats, partition.first_block(rank), partition.last_block(rank));
      vectors_.push_back(reference::tree_sum(own));
      halvings_.push_back(make_halving(partition, num_floats, rank).value());
      rounds_left_.push_back(halvings_.back().rounds.size());
    }
  }

  const Vectors& run() {
    add();
    for (std::size_t rank = 0; rank < halvings_.size(); ++rank) {
      EXPECT_EQ(rounds_left_[rank], 0u) << "rank " << rank << " waits for ever";
      std::reverse(halvings_[rank].rounds.begin(), halvings_[rank].rounds.end());
      rounds_left_[rank] = halvings_[rank].rounds.size();
    }
    EXPECT_TRUE(is_quiet());
    hand_back();
    EXPECT_TRUE(is_quiet());
    return vectors_;
  }

  const std::vector<Halving>& halvings() const { return halvings_; }

 private:
  using Way = std::pair<int, int>;

  bool is_quiet() const {
    return std::ranges::all_of(on_the_way_, [](const auto& way) { return way.second.empty(); });
  }

  void send(int from, const RankSegment& part) {
    const auto begin = vectors_[static_cast<std::size_t>(from)].begin() + part.offset;
    on_the_way_[{from, part.rank}].emplace_back(begin, begin + part.count);
  }

  bool have_come(int to, const std::vector<RankSegment>& parts) {
    return std::ranges::all_of(parts, [&](const RankSegment& part) {
      return !on_the_way_[{part.rank, to}].empty();
    });
  }

  std::vector<float> receive(int to, const RankSegment& part) {
    auto& queue = on_the_way_[{part.rank, to}];
    std::vector<float> values = std::move(queue.front());
    queue.pop_front();
    EXPECT_EQ(std::ssize(values), part.count);
    return values;
  }

  // `begin`: what a rank sends when it comes to a round; `end`: once what it waits for is there.
  template <class Sent, class Awaited, class Put>
  void take_turns(const Sent& sent, const Awaited& awaited, const Put& put) {
    std::vector<bool> has_sent(vectors_.size());
    for (bool moves = true; moves;) {
      moves = false;
      for (int rank = 0; rank < static_cast<int>(vectors_.size()); ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        if (rounds_left_[r] == 0) continue;
        const HalvingRound& round =
            *(halvings_[r].rounds.end() - static_cast<long>(rounds_left_[r]));
        if (!has_sent[r])
          for (const RankSegment& part : sent(round)) send(rank, part);
        has_sent[r] = true;
        if (!have_come(rank, awaited(round))) continue;
        for (const RankSegment& part : awaited(round)) {
          const std::vector<float> values = receive(rank, part);
          for (std::size_t i = 0; i < values.size(); ++i)
            put(vectors_[r][static_cast<std::size_t>(part.offset) + i], values[i]);
        }
        has_sent[r] = false;
        rounds_left_[r] -= 1;
        moves = true;
      }
    }
  }

  static const std::vector<RankSegment>& given(const HalvingRound& round) { return round.give; }
  static const std::vector<RankSegment>& taken(const HalvingRound& round) { return round.take; }

  void add() {
    take_turns(given, taken, [](float& sum, float value) { sum += value; });
  }
  void hand_back() {
    take_turns(taken, given, [](float& sum, float value) { sum = value; });
  }

  Vectors vectors_;
  std::vector<Halving> halvings_;
  std::vector<std::size_t> rounds_left_;
  std::map<Way, std::deque<std::vector<float>>> on_the_way_;
};

void expect_tree_sum_everywhere(const BatchPartition& partition, std::int64_t num_floats) {
  Simulation simulation(partition, num_floats);
  const std::vector<float> expected =
      reference::tree_sum(leaf_gradients(num_floats, 0, partition.num_blocks()));
  for (const std::vector<float>& vector : simulation.run()) {
    ASSERT_EQ(std::memcmp(vector.data(), expected.data(), expected.size() * sizeof(float)), 0)
        << partition.num_ranks() << " ranks, " << num_floats << " floats";
  }
}

TEST(Halving, HasTheBitsOfTheTreeOnAnyNumberOfRanks) {
  for (int ranks = 1; ranks <= 70; ++ranks) {
    for (const std::int64_t num_floats : {1, 3, 16, 17, 33, 1000})
      expect_tree_sum_everywhere(BatchPartition(ranks, 1, ranks), num_floats);
  }
  expect_tree_sum_everywhere(BatchPartition(1000, 1, 1000), 2000);
}

TEST(Halving, AddsSubtreesOfSeveralBlocks) {
  for (const int ranks : {2, 3, 5, 8, 12})
    for (const int blocks : {2, 4, 8})
      expect_tree_sum_everywhere(BatchPartition(ranks * blocks, 1, ranks), 100);
  // The last rank has fewer.
  expect_tree_sum_everywhere(BatchPartition(13, 1, 4), 100);
  // As with parallel.balance: few ranks on the left of a node.
  for (const std::vector<int>& shares :
       {std::vector<int>{4, 2, 2}, {4, 1, 1, 2}, {1, 1, 2, 4}, {8, 1, 1, 1, 1, 2, 2}})
    expect_tree_sum_everywhere(
        BatchPartition(std::accumulate(shares.begin(), shares.end(), 0), 1, shares), 100);
}

TEST(Halving, NeedsOnePartialSumOfEachRank) {
  EXPECT_FALSE(make_halving(BatchPartition(6, 1, 2), 10, 0));  // three blocks each
  EXPECT_FALSE(make_halving(BatchPartition(3, 1, 4), 10, 0));  // none on the last rank
  EXPECT_TRUE(make_halving(BatchPartition(8, 1, 2), 10, 1));
}

TEST(Halving, OfAPowerOfTwoOfRanksTakesLog2OfThemInMessages) {
  for (const int ranks : {2, 4, 8, 64, 1024}) {
    const std::int64_t floats = 16 * ranks;
    const auto halving = make_halving(BatchPartition(ranks, 1, ranks), floats, 1).value();
    EXPECT_EQ(halving.load.messages, 2 * (std::bit_width(static_cast<unsigned>(ranks)) - 1));
    EXPECT_EQ(halving.load.floats, 2 * (floats - floats / ranks));
  }
}

TEST(Halving, OfOtherNumbersOfRanksTakesAFewMore) {
  const auto messages = [](int ranks) {
    return make_halving(BatchPartition(ranks, 1, ranks), 100000, 0)->load.messages;
  };
  EXPECT_EQ(messages(8000), 28);  // docs/numerics.md
  EXPECT_EQ(messages(6), 6);
  EXPECT_EQ(messages(7), 8);
}

// A node of a machine has ranks side by side: what leaves it is the sum of all of theirs, once.
TEST(Halving, SendsOneGradientOutOfAPowerOfTwoOfNeighbours) {
  constexpr int kRanks = 64;
  constexpr int kNode = 16;
  constexpr std::int64_t kFloats = 1024;
  std::int64_t left = 0;
  for (int rank = 0; rank < kNode; ++rank) {
    const auto halving = make_halving(BatchPartition(kRanks, 1, kRanks), kFloats, rank);
    for (const HalvingRound& round : halving.value().rounds)
      for (const RankSegment& part : round.give) left += part.rank >= kNode ? part.count : 0;
  }
  EXPECT_EQ(left, kFloats - kFloats / (kRanks / kNode));
}

TEST(Halving, LoadIsThatOfTheRankWithMost) {
  // Rank 4 hands its vector to the other four.
  const auto load = [](int rank) { return make_halving(BatchPartition(5, 1, 5), 64, rank)->load; };
  for (int rank = 0; rank < 5; ++rank) {
    EXPECT_EQ(load(rank).messages, 8);
    EXPECT_EQ(load(rank).floats, 2 * (32 + 16 + 16));
  }
}

TEST(Halving, IsChosenWhereItIsLighter) {
  const auto is_chosen = [](int ranks, std::int64_t floats) {
    return is_lighter(make_halving(BatchPartition(ranks, 1, ranks), floats, 0)->load,
                      load_of_slices(floats, ranks));
  };
  for (const std::int64_t floats :
       {std::int64_t{3}, std::int64_t{100000}, std::int64_t{25000000}}) {
    for (const int ranks : {4, 8, 16, 1024}) EXPECT_TRUE(is_chosen(ranks, floats)) << ranks;
    EXPECT_FALSE(is_chosen(3, floats));
  }
  EXPECT_TRUE(is_chosen(1000, 25000000));
  EXPECT_FALSE(is_chosen(9, 25000000));
}

}  // namespace
}  // namespace quern
