// SPDX-License-Identifier: Apache-2.0
#include "optim/spread_chunks.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace quern {

namespace {

struct OwnedRange {
  SpreadRange range;
  std::size_t owner = 0;
};

/// The block from its begin to its end, every float once; no range is in two chunks.
std::vector<OwnedRange> each_float_once(const std::vector<std::vector<SpreadRange>>& ranges,
                                        std::int64_t block_size) {
  std::vector<OwnedRange> all;
  for (std::size_t r = 0; r < ranges.size(); ++r)
    for (const SpreadRange& range : ranges[r]) all.push_back({range, r});
  std::ranges::stable_sort(all, {},
                           [](const OwnedRange& owned) { return owned.range.range.begin; });
  std::vector<OwnedRange> once;
  std::size_t next = 0;
  std::size_t longest = 0;  // of those that begin at or before `at`
  for (std::int64_t at = 0; at < block_size;) {
    while (next < all.size() && all[next].range.range.begin <= at) {
      if (all[next].range.range.end > all[longest].range.range.end) longest = next;
      ++next;
    }
    expect(next > 0 && all[longest].range.range.end > at, "an owner for every float");
    const SpreadRange& range = all[longest].range;
    const std::int64_t chunk_end = (at / SpreadChunks::kChunk + 1) * SpreadChunks::kChunk;
    const std::int64_t end = std::min({range.range.end, chunk_end, block_size});
    expect(at % kLanes == 0 && end % kLanes == 0, "ranges of whole lane groups");
    once.push_back({{{at, end}, range.from + at - range.range.begin}, all[longest].owner});
    at = end;
  }
  return once;
}

}  // namespace

SpreadChunks spread_chunks(const std::vector<std::vector<SpreadRange>>& ranges,
                           std::int64_t block_size, int rank) {
  constexpr std::int64_t kFloats = SpreadChunks::kChunk;
  const std::vector<OwnedRange> all = each_float_once(ranges, block_size);
  const auto is_whole = [&](const BlockRange& range) {
    return range.size() == std::min(kFloats, block_size - range.begin / kFloats * kFloats);
  };
  std::vector<std::int64_t> sums(ranges.size());
  std::vector<std::int64_t> floats(ranges.size());
  for (const OwnedRange& owned : all) {
    if (is_whole(owned.range.range))
      sums[owned.owner] += 1;
    else
      floats[owned.owner] += owned.range.range.size();
  }
  SpreadChunks spread;
  for (std::size_t r = 0; r < ranges.size(); ++r)
    spread.part_floats = std::max(spread.part_floats, 2 * sums[r] + floats[r]);
  spread.part_floats = round_up_to_lanes(std::max<std::int64_t>(spread.part_floats, 1));

  std::vector<std::int64_t> sums_before(ranges.size());
  std::vector<std::int64_t> floats_before(ranges.size());
  for (const OwnedRange& owned : all) {
    const std::size_t r = owned.owner;
    const bool is_own = r == static_cast<std::size_t>(rank);
    const auto part = static_cast<std::int64_t>(r) * spread.part_floats;
    const BlockRange& range = owned.range.range;
    const BlockRange in_gradient{owned.range.from, owned.range.from + range.size()};
    if (is_whole(range)) {
      spread.place.push_back(part / 2 + sums_before[r]++);
      if (is_own) spread.chunks.push_back(in_gradient);
      continue;
    }
    if (range.begin % kFloats == 0)
      spread.place.push_back(~static_cast<std::int64_t>(spread.shared.size()));
    const std::int64_t from = 2 * sums[r] + floats_before[r];
    floats_before[r] += range.size();
    spread.shared.push_back({range, part + from});
    if (is_own) spread.pieces.push_back({in_gradient, from});
  }
  return spread;
}

}  // namespace quern
