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
  Builder(std::int64_t num_floats, int num_ranks, int own, int ranks_per_node)
      : num_floats_(num_floats),
        own_(own),
        ranks_per_node_(ranks_per_node),
        loads_(static_cast<std::size_t>(num_ranks)) {
    if (ranks_per_node > 0)
      node_floats_.resize(static_cast<std::size_t>(ceil_div(num_ranks, ranks_per_node)));
  }

  Holders leaf(int rank) const { return {{rank, 0, num_floats_}}; }

  Holders add(Holders left, Holders right) {
    if (left.size() < right.size()) std::swap(left, right);
    if (left.size() > right.size()) {
      hand_over(left, right);
      return left;
    }
    return halve(std::move(left), std::move(right));
  }

  /// A partial sum goes to the owner of its leaf, and nothing comes back.
  void gather(const HalvingLeaf& leaf, const BlockTree& tree) {
    if (leaf.is_ready()) return;
    has_only_rounds_ = false;
    for (const PartialSum& part : leaf.parts) {
      if (part.rank == leaf.owner) continue;
      if (part.rank == own_) gathering_.give.push_back({leaf.owner, part.number});
      count_sent(part.rank, leaf.owner, num_floats_ - 1);
      count(part.rank, 1, num_floats_ - 1);
      count(leaf.owner, 1, num_floats_ - 1);
    }
    if (leaf.owner != own_) return;
    gathering_.parts = leaf.parts;
    gathering_.order = tree.traverse_nodes(leaf.part_nodes);
  }

  void feed(const Feed& feed) {
    has_only_rounds_ = false;
    begin_round({feed.from, feed.to});
    move(feed.to, feed.from, num_floats_ - 1, num_floats_);
    count_sent(feed.from, feed.to, num_floats_ - 1);
    if (feed.from == own_ || feed.to == own_) rounds_.back().is_feed = true;
    count(feed.from, 2, num_floats_);
    count(feed.to, 2, num_floats_);
  }

  Halving result() {
    Halving halving{std::move(gathering_), std::move(rounds_), {}, has_only_rounds_};
    for (const ExchangeLoad& load : loads_) {
      halving.load.messages = std::max(halving.load.messages, load.messages);
      halving.load.floats = std::max(halving.load.floats, load.floats);
    }
    halving.load.all_floats = all_floats_;
    if (!node_floats_.empty()) halving.load.node_floats = *std::ranges::max_element(node_floats_);
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
      const std::int64_t larger = std::max(middle - a.begin, a.end - middle);
      count(a.rank, 2, 2 * larger);
      count(b.rank, 2, 2 * larger);
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
        count(many[i].rank, 2, 2 * (many[i].end - many[i].begin));
      }
      count(few[j].rank, 2 * static_cast<std::int64_t>(many.size() / few.size()),
            2 * (few[j].end - few[j].begin));
    }
  }

  void begin_round(std::initializer_list<int> ranks) {
    if (std::ranges::find(ranks, own_) != ranks.end()) rounds_.emplace_back();
  }

  void move(int from, int to, std::int64_t begin, std::int64_t end) {
    if (begin == end) return;
    count_sent(from, to, end - begin);
    count_sent(to, from, end - begin);  // on the way back
    if (from == own_) rounds_.back().give.push_back({to, begin, end - begin});
    if (to == own_) rounds_.back().take.push_back({from, begin, end - begin});
  }

  void count(int rank, std::int64_t messages, std::int64_t floats) {
    ExchangeLoad& load = loads_[static_cast<std::size_t>(rank)];
    load.messages += messages;
    load.floats += floats;
  }

  void count_sent(int from, int to, std::int64_t floats) {
    all_floats_ += floats;
    if (node_floats_.empty() || from / ranks_per_node_ == to / ranks_per_node_) return;
    node_floats_[static_cast<std::size_t>(from / ranks_per_node_)] += floats;
  }

  std::int64_t num_floats_;
  int own_;
  int ranks_per_node_;
  LeafGathering gathering_;
  bool has_only_rounds_ = true;
  std::vector<HalvingRound> rounds_;
  std::vector<ExchangeLoad> loads_;  // of each rank
  std::int64_t all_floats_ = 0;
  std::vector<std::int64_t> node_floats_;  // of each node
};

// The rounds in which the leaves are added, one after the other.
void add_leaves(const std::vector<HalvingLeaf>& leaves, const BlockTree& tree, Builder& builder) {
  std::vector<TreeNode> nodes;
  for (const HalvingLeaf& leaf : leaves) nodes.push_back(leaf.node);
  const BlockTree::Traversal traversal = tree.traverse_nodes(nodes);
  std::vector<Holders> stack;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    stack.push_back(builder.leaf(leaves[i].owner));
    for (int merge = traversal.merges[i]; merge > 0; --merge) {
      Holders right = std::move(stack.back());
      stack.pop_back();
      stack.back() = builder.add(std::move(stack.back()), std::move(right));
    }
  }
}

}  // namespace

Halving make_halving(const BatchPartition& partition, std::int64_t num_floats, int rank,
                     int ranks_per_node) {
  expect(num_floats >= 1, "a vector of at least one float");
  const BlockTree tree(partition.num_blocks());
  const std::vector<HalvingLeaf> leaves = halving_leaves(partition);
  const std::vector<Feed> all_feeds = feeds(leaves, partition.num_ranks());
  Builder builder(num_floats, partition.num_ranks(), rank, ranks_per_node);
  for (const HalvingLeaf& leaf : leaves) builder.gather(leaf, tree);
  // On the way back whoever feeds others has been fed before.
  for (auto feed = all_feeds.rbegin(); feed != all_feeds.rend(); ++feed) builder.feed(*feed);
  add_leaves(leaves, tree, builder);
  return builder.result();
}

std::int64_t Halving::floats_sent(std::int64_t num_floats) const {
  std::int64_t floats = std::ssize(gathering.give) * (num_floats - 1);
  for (const HalvingRound& round : rounds) {
    for (const RankSegment& part : round.give) floats += part.count;
    for (const RankSegment& part : round.take) floats += round.is_feed ? num_floats : part.count;
  }
  return floats;
}

ExchangeLoad load_of_slices(const BatchPartition& partition, std::int64_t num_floats) {
  const std::int64_t others = partition.num_ranks() - 1;
  std::int64_t most = 0;
  for (int rank = 0; rank < partition.num_ranks(); ++rank)
    most = std::max<std::int64_t>(most, num_partial_sums(SumOrder::tree, partition, rank));
  return {2 * others, (most + 1) * num_floats * others / partition.num_ranks()};
}

bool is_lighter(const ExchangeLoad& load, const ExchangeLoad& other) {
  return load.messages * kFloatsOfMessage + load.floats <
         other.messages * kFloatsOfMessage + other.floats;
}

std::optional<Halving> make_lighter_halving(const BatchPartition& partition,
                                            std::int64_t num_floats, int rank, int ranks_per_node) {
  Halving halving = make_halving(partition, num_floats, rank, ranks_per_node);
  if (is_lighter(halving.load, load_of_slices(partition, num_floats))) return halving;
  return std::nullopt;
}

}  // namespace quern
