// SPDX-License-Identifier: Apache-2.0
// Many ranks, each an array: what they would send is added and handed on here.
#include "parallel/halving.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <map>
#include <numeric>

#include "parallel/reference/tree_sum.hpp"
#include "parallel/tree_sum.hpp"
#include "support/leaf_values.hpp"

namespace quern {
namespace {

using testing::leaf_gradients;

using Vectors = std::vector<std::vector<float>>;

/// Ranks that take turns: each goes as far as what it has been sent lets it.
class Simulation {
 public:
  /// The last float of a vector is its rank's vote, as large as the rank's number.
  Simulation(const BatchPartition& partition, std::int64_t num_floats) : num_floats_(num_floats) {
    for (int rank = 0; rank < partition.num_ranks(); ++rank) {
      partial_sums_.emplace_back();
      for (const TreeNode& node : tree_partial_sums(partition, rank)) {
        const int begin = node.index << node.level;
        const int end = std::min(begin + (1 << node.level), partition.last_block(rank));
        partial_sums_.back().push_back(reference::tree_sum(leaf_gradients(num_floats, begin, end)));
      }
      // A rank without blocks has what it had before.
      vectors_.push_back(partial_sums_.back().empty()
                             ? std::vector<float>(static_cast<std::size_t>(num_floats), 1e30f)
                             : partial_sums_.back().front());
      vectors_.back().back() = static_cast<float>(rank);
      halvings_.push_back(make_halving(partition, num_floats, rank));
      rounds_left_.push_back(halvings_.back().rounds.size());
    }
  }

  const Vectors& run() {
    gather();
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

  void gather() {
    std::size_t given = 0;
    for (const Halving& halving : halvings_) given += halving.gathering.give.size();
    for (std::size_t rank = 0; rank < halvings_.size(); ++rank) {
      const LeafGathering& gathering = halvings_[rank].gathering;
      std::vector<std::vector<float>> stack;
      for (std::size_t i = 0; i < gathering.parts.size(); ++i) {
        const PartialSum& part = gathering.parts[i];
        const auto from = static_cast<std::size_t>(part.rank);
        stack.push_back(partial_sums_[from][static_cast<std::size_t>(part.number)]);
        if (from != rank) {
          --given;
          EXPECT_TRUE(gives(from, {static_cast<int>(rank), part.number}));
        }
        for (int merge = gathering.order.merges[i]; merge > 0; --merge) {
          const std::vector<float> right = stack.back();
          stack.pop_back();
          for (std::size_t j = 0; j < right.size(); ++j) stack.back()[j] += right[j];
        }
      }
      if (!stack.empty())
        std::copy_n(stack.front().begin(), num_floats_ - 1, vectors_[rank].begin());
    }
    EXPECT_EQ(given, 0u) << "partial sums that nobody adds";
  }

  bool gives(std::size_t from, const PartialSum& part) const {
    return std::ranges::count(halvings_[from].gathering.give, part) == 1;
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

  static std::vector<RankSegment> given(const HalvingRound& round) { return round.give; }
  static std::vector<RankSegment> taken(const HalvingRound& round) { return round.take; }
  std::vector<RankSegment> back(const HalvingRound& round, std::vector<RankSegment> parts) const {
    for (RankSegment& part : parts)
      if (round.is_feed) part = {part.rank, 0, num_floats_};
    return parts;
  }

  void add() {
    take_turns(given, taken, [](float& sum, float value) { sum += value; });
  }
  void hand_back() {
    take_turns([this](const HalvingRound& round) { return back(round, round.take); },
               [this](const HalvingRound& round) { return back(round, round.give); },
               [](float& sum, float value) { sum = value; });
  }

  std::int64_t num_floats_;
  std::vector<Vectors> partial_sums_;  // of each rank
  Vectors vectors_;
  std::vector<Halving> halvings_;
  std::vector<std::size_t> rounds_left_;
  std::map<Way, std::deque<std::vector<float>>> on_the_way_;
};

void expect_tree_sum_everywhere(const BatchPartition& partition, std::int64_t num_floats) {
  Simulation simulation(partition, num_floats);
  std::vector<float> expected =
      reference::tree_sum(leaf_gradients(num_floats, 0, partition.num_blocks()));
  expected.back() = static_cast<float>(partition.num_ranks() * (partition.num_ranks() - 1) / 2);
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

TEST(Halving, AddsAnyNumberOfPartialSumsOfARank) {
  for (int ranks = 1; ranks <= 40; ++ranks) {
    for (int blocks = 1; blocks <= 5 * ranks; blocks += 1 + blocks / 16)
      expect_tree_sum_everywhere(BatchPartition(blocks, 1, ranks), 40);
  }
  for (const std::vector<int>& shares : {std::vector<int>{7, 1},
                                         {1, 5, 2},
                                         {0, 3},
                                         {0, 0, 9, 0, 1, 0},
                                         {5, 0, 0, 3, 1},
                                         {1, 1, 1, 13, 3},
                                         {3, 3, 3, 3, 3, 3, 1},
                                         {2, 6, 2, 6, 2, 6, 2, 6, 1}})
    expect_tree_sum_everywhere(
        BatchPartition(std::accumulate(shares.begin(), shares.end(), 0), 1, shares), 33);
  expect_tree_sum_everywhere(BatchPartition(3000, 1, 1000), 500);
  expect_tree_sum_everywhere(BatchPartition(13, 1, 1000), 500);
}

TEST(Halving, HasOnlyRoundsWhereEachRankHasOnePartialSum) {
  const auto has_only_rounds = [](int blocks, int ranks) {
    return make_halving(BatchPartition(blocks, 1, ranks), 10, 0).has_only_rounds;
  };
  EXPECT_TRUE(has_only_rounds(8, 2));
  EXPECT_TRUE(has_only_rounds(13, 4));
  EXPECT_FALSE(has_only_rounds(6, 2)) << "two partial sums each";
  EXPECT_FALSE(has_only_rounds(3, 4)) << "none on the last rank";
}

TEST(Halving, OfSeveralPartialSumsTakesAFewMoreMessages) {
  const auto messages = [](int blocks, int ranks) {
    return make_halving(BatchPartition(blocks, 1, ranks), 100000, 0).load.messages;
  };
  EXPECT_EQ(messages(3 * 8000, 8000), 34);  // docs/numerics.md
  EXPECT_EQ(messages(8000 + 7, 8000), 44);
  EXPECT_EQ(messages(5, 8000), 34);
}

TEST(Halving, OfAPowerOfTwoOfRanksTakesLog2OfThemInMessages) {
  for (const int ranks : {2, 4, 8, 64, 1024}) {
    const std::int64_t floats = 16 * ranks;
    const auto halving = make_halving(BatchPartition(ranks, 1, ranks), floats, 1);
    EXPECT_EQ(halving.load.messages, 2 * (std::bit_width(static_cast<unsigned>(ranks)) - 1));
    EXPECT_EQ(halving.load.floats, 2 * (floats - floats / ranks));
  }
}

TEST(Halving, OfOtherNumbersOfRanksTakesAFewMore) {
  const auto messages = [](int ranks) {
    return make_halving(BatchPartition(ranks, 1, ranks), 100000, 0).load.messages;
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
    for (const HalvingRound& round : halving.rounds)
      for (const RankSegment& part : round.give) left += part.rank >= kNode ? part.count : 0;
  }
  EXPECT_EQ(left, kFloats - kFloats / (kRanks / kNode));
}

TEST(Halving, CountsWhatLeavesTheNodeThatSendsMost) {
  constexpr std::int64_t kFloats = 1000;
  for (const auto& [ranks, blocks, neighbours] :
       {std::array{64, 64, 16}, {60, 60, 6}, {50, 50, 12}, {24, 72, 4}, {30, 13, 7}}) {
    const BatchPartition partition(blocks, 1, ranks);
    std::vector<std::int64_t> left(static_cast<std::size_t>(ranks / neighbours + 1));
    std::int64_t all = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const int node = rank / neighbours;
      const auto sends = [&](int to, std::int64_t floats) {
        all += floats;
        if (to / neighbours != node) left[static_cast<std::size_t>(node)] += floats;
      };
      const Halving halving = make_halving(partition, kFloats, rank);
      for (const PartialSum& part : halving.gathering.give) sends(part.rank, kFloats - 1);
      for (const HalvingRound& round : halving.rounds) {
        for (const RankSegment& part : round.give) sends(part.rank, part.count);
        for (const RankSegment& part : round.take)
          sends(part.rank, round.is_feed ? kFloats : part.count);
      }
    }
    const ExchangeLoad load = make_halving(partition, kFloats, 0, neighbours).load;
    EXPECT_EQ(load.all_floats, all) << ranks;
    EXPECT_EQ(load.node_floats, *std::ranges::max_element(left)) << ranks;
  }
  const auto gradients_out_of = [](int neighbours) {
    constexpr std::int64_t kMany = 100000;
    const BatchPartition partition(64 * neighbours, 1, 64 * neighbours);
    const ExchangeLoad load = make_halving(partition, kMany, 0, neighbours).load;
    return static_cast<double>(load.node_floats) / static_cast<double>(kMany);
  };
  EXPECT_NEAR(gradients_out_of(8), 2.0 * 63 / 64, 0.01);
  EXPECT_GT(gradients_out_of(6), 3) << "no power of two";
}

TEST(Halving, LoadIsThatOfTheRankWithMost) {
  // Rank 4 hands its vector to the other four.
  const auto load = [](int rank) { return make_halving(BatchPartition(5, 1, 5), 64, rank).load; };
  for (int rank = 0; rank < 5; ++rank) {
    EXPECT_EQ(load(rank).messages, 8);
    EXPECT_EQ(load(rank).floats, 2 * (32 + 16 + 16));
  }
}

TEST(Halving, IsChosenWhereItIsLighter) {
  const auto is_chosen = [](int ranks, std::int64_t floats) {
    return make_lighter_halving(BatchPartition(ranks, 1, ranks), floats, 0).has_value();
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
