// SPDX-License-Identifier: Apache-2.0
#include "parallel/halving.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/block_tree.hpp"
#include "base/ceil_div.hpp"
#include "parallel/tree_sum.hpp"
#include "tensor/types.hpp"

namespace quern {

namespace {

// A message takes about 2 us to start, in which 10 GB/s are 5000 floats.
constexpr std::int64_t kFloatsOfMessage = 5000;

/// A rank below a node of the tree, and which floats of the node's sum it has.
struct Holder {
  int rank = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Of a node: a power of two of them. All nodes cut the floats in the same places, so that a holder
/// among 2^k has what holders i + 2^k j among more of them have together.
using Holders = std::vector<Holder>;

class Builder {
 public:
  Builder(std::int64_t num_floats, int num_ranks, int own)
      : num_floats_(num_floats), own_(own), loads_(static_cast<std::size_t>(num_ranks)) {}

  Holders leaf(int rank) const { return {{rank, 0, num_floats_}}; }

  Holders add(Holders left, Holders right) {
    if (left.size() < right.size()) std::swap(left, right);
    if (left.size() > right.size()) {
      hand_over(left, right);
      return left;
    }
    return halve(std::move(left), std::move(right));
  }

  Halving result() {
    Halving halving{std::move(rounds_), {}};
    for (const ExchangeLoad& load : loads_) {
      halving.load.messages = std::max(halving.load.messages, 2 * load.messages);
      halving.load.floats = std::max(halving.load.floats, 2 * load.floats);
    }
    return halving;
  }

 private:
  // Pairs of holders of the same floats: the left one keeps the first half.
  Holders halve(Holders left, Holders right) {
    for (std::size_t i = 0; i < left.size(); ++i) {
      Holder& a = left[i];
      Holder& b = right[i];
      const std::int64_t half = round_up_to_lanes(ceil_div(a.end - a.begin, 2));
      const std::int64_t middle = std::min(a.begin + half, a.end);
      begin_round({a.rank, b.rank});
      move(a.rank, b.rank, middle, a.end);
      move(b.rank, a.rank, b.begin, middle);
      count(a.rank, 1, a.end - a.begin - std::min(middle - a.begin, a.end - middle));
      count(b.rank, 1, b.end - b.begin - std::min(middle - b.begin, b.end - middle));
      a.end = middle;
      b.begin = middle;
    }
    left.insert(left.end(), right.begin(), right.end());
    return left;
  }

  void hand_over(const Holders& many, const Holders& few) {
    for (std::size_t j = 0; j < few.size(); ++j) {
      begin_round({few[j].rank});
      for (std::size_t i = j; i < many.size(); i += few.size()) {
        begin_round({many[i].rank});
        move(few[j].rank, many[i].rank, many[i].begin, many[i].end);
        count(many[i].rank, 1, many[i].end - many[i].begin);
      }
      count(few[j].rank, static_cast<std::int64_t>(many.size() / few.size()),
            few[j].end - few[j].begin);
    }
  }

  void begin_round(std::initializer_list<int> ranks) {
    if (std::ranges::find(ranks, own_) != ranks.end()) rounds_.emplace_back();
  }

  void move(int from, int to, std::int64_t begin, std::int64_t end) {
    if (begin == end) return;
    if (from == own_) rounds_.back().give.push_back({to, begin, end - begin});
    if (to == own_) rounds_.back().take.push_back({from, begin, end - begin});
  }

  void count(int rank, std::int64_t messages, std::int64_t floats) {
    ExchangeLoad& load = loads_[static_cast<std::size_t>(rank)];
    load.messages += messages;
    load.floats += floats;
  }

  std::int64_t num_floats_;
  int own_;
  std::vector<HalvingRound> rounds_;
  std::vector<ExchangeLoad> loads_;  // of the rounds there
};

}  // namespace

std::optional<Halving> make_halving(const BatchPartition& partition, std::int64_t num_floats,
                                    int rank) {
  expect(num_floats >= 1, "a vector of at least one float");
  std::vector<TreeNode> nodes;
  for (int of = 0; of < partition.num_ranks(); ++of) {
    const std::vector<TreeNode> own = tree_partial_sums(partition, of);
    if (own.size() != 1) return std::nullopt;
    nodes.push_back(own.front());
  }
  const BlockTree::Traversal traversal = BlockTree(partition.num_blocks()).traverse_nodes(nodes);
  Builder builder(num_floats, partition.num_ranks(), rank);
  std::vector<Holders> stack;
  for (int leaf = 0; leaf < partition.num_ranks(); ++leaf) {
    stack.push_back(builder.leaf(leaf));
    for (int merge = traversal.merges[static_cast<std::size_t>(leaf)]; merge > 0; --merge) {
      Holders right = std::move(stack.back());
      stack.pop_back();
      stack.back() = builder.add(std::move(stack.back()), std::move(right));
    }
  }
  return builder.result();
}

ExchangeLoad load_of_slices(std::int64_t num_floats, int num_ranks) {
  const std::int64_t others = num_ranks - 1;
  return {2 * others, 2 * num_floats * others / num_ranks};
}

bool is_lighter(const ExchangeLoad& load, const ExchangeLoad& other) {
  return load.messages * kFloatsOfMessage + load.floats <
         other.messages * kFloatsOfMessage + other.floats;
}

std::optional<Halving> make_lighter_halving(const BatchPartition& partition,
                                            std::int64_t num_floats, int rank) {
  std::optional<Halving> halving = make_halving(partition, num_floats, rank);
  if (halving && is_lighter(halving->load, load_of_slices(num_floats, partition.num_ranks())))
    return halving;
  return std::nullopt;
}

}  // namespace quern
