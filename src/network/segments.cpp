// SPDX-License-Identifier: Apache-2.0
#include "network/segments.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "network/buffer_plan.hpp"

namespace quern {

namespace {

// Sizes of the largest segment that are tried grow by a twentieth.
constexpr double kGrowth = 1.05;
constexpr std::int64_t kTooMuch = std::numeric_limits<std::int64_t>::max();

/// What a segment that ends here takes: of values that later ones read, and of the others.
struct Cost {
  std::int64_t kept = 0;
  std::int64_t own = 0;
};

class Cutter {
 public:
  Cutter(const Graph& graph, const Fusion& fusion)
      : num_nodes_(static_cast<int>(graph.nodes().size())),
        buffers_(value_buffers(graph, fusion, kLanes)) {
    find_places();
    for (std::size_t begin = 0; begin + 1 < places_.size(); ++begin) find_costs(begin);
  }

  std::vector<NodeRange> best() const {
    std::vector<NodeRange> best = {{0, num_nodes_}};
    std::int64_t least = kept_without_cut();
    std::int64_t smallest = kTooMuch;
    for (std::size_t begin = 0; begin < costs_.size(); ++begin)
      smallest = std::min(smallest, costs_[begin].front().own);
    for (auto limit = static_cast<double>(std::max<std::int64_t>(smallest, kLanes));
         limit < static_cast<double>(least); limit *= kGrowth) {
      const auto [memory, segments] = cut(static_cast<std::int64_t>(limit));
      if (memory >= least) continue;
      least = memory;
      best = segments;
    }
    return best;
  }

 private:
  // Between which nodes a cut is possible, with both ends.
  void find_places() {
    std::vector<bool> is_inside(static_cast<std::size_t>(num_nodes_) + 1, false);
    for (const ValueBuffer& buffer : buffers_)
      for (int cut = buffer.first_producer + 1; cut <= buffer.last_producer; ++cut)
        is_inside[static_cast<std::size_t>(cut)] = true;
    for (int cut = 0; cut <= num_nodes_; ++cut)
      if (cut == 0 || cut == num_nodes_ || !is_inside[static_cast<std::size_t>(cut)])
        places_.push_back(cut);
  }

  // Of all segments that begin at this place. (The batch, of no producer, is always kept.)
  void find_costs(std::size_t begin) {
    std::vector<std::int64_t> made(places_.size(), 0);  // of buffers first written before a place
    std::vector<std::int64_t> done(places_.size(), 0);  // of those that nobody reads after it
    const auto place_after = [&](int node) {
      return static_cast<std::size_t>(std::ranges::upper_bound(places_, node) - places_.begin());
    };
    for (const ValueBuffer& buffer : buffers_) {
      if (buffer.first_producer < places_[begin]) continue;
      made[place_after(buffer.first_producer)] += buffer.floats;
      const std::size_t end = place_after(std::max(buffer.last_reader, buffer.last_producer));
      if (end < places_.size()) done[end] += buffer.floats;
    }
    std::vector<Cost>& costs = costs_.emplace_back();
    Cost cost;
    for (std::size_t end = begin + 1; end < places_.size(); ++end) {
      cost.own += done[end];
      cost.kept += made[end] - done[end];
      costs.push_back(cost);
    }
  }

  std::int64_t kept_without_cut() const {
    std::int64_t all = 0;
    for (const ValueBuffer& buffer : buffers_)
      if (buffer.first_producer >= 0) all += buffer.floats;
    return all;
  }

  struct Cut {
    std::int64_t memory = kTooMuch;
    std::vector<NodeRange> segments;
  };
  /// The cut that keeps least, of those whose segments have at most `limit` floats of their own.
  Cut cut(std::int64_t limit) const {
    const std::size_t last = places_.size() - 1;
    std::vector<std::int64_t> kept(places_.size(), kTooMuch);
    std::vector<std::size_t> from(places_.size(), 0);
    kept[0] = 0;
    for (std::size_t begin = 0; begin < last; ++begin) {
      if (kept[begin] == kTooMuch) continue;
      for (std::size_t end = begin + 1; end <= last; ++end) {
        const Cost& cost = costs_[begin][end - begin - 1];
        if (cost.own > limit || kept[begin] + cost.kept >= kept[end]) continue;
        kept[end] = kept[begin] + cost.kept;
        from[end] = begin;
      }
    }
    Cut result;
    if (kept[last] == kTooMuch) return result;
    std::int64_t own = 0;
    for (std::size_t end = last; end > 0; end = from[end]) {
      own = std::max(own, costs_[from[end]][end - from[end] - 1].own);
      result.segments.push_back({places_[from[end]], places_[end]});
    }
    std::ranges::reverse(result.segments);
    result.memory = kept[last] + own;
    return result;
  }

  int num_nodes_;
  std::vector<ValueBuffer> buffers_;
  std::vector<int> places_;
  std::vector<std::vector<Cost>> costs_;  // by the place where a segment begins, then its end
};

}  // namespace

std::vector<NodeRange> cut_into_segments(const Graph& graph, const Fusion& fusion) {
  return Cutter(graph, fusion).best();
}

}  // namespace quern
