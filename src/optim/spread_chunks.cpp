// SPDX-License-Identifier: Apache-2.0
#include "optim/spread_chunks.hpp"

#include "base/assert.hpp"

namespace quern {

namespace {

struct OwnedRange {
  SpreadRange range;
  std::size_t owner = 0;
  bool is_first = false;  // of its chunk
  bool is_whole = false;  // its chunk
};

/// The block from its begin to its end, every float once; no range is in two chunks.
std::vector<OwnedRange> each_float_once(const std::vector<std::vector<SpreadRange>>& ranges,
                                        const std::vector<BlockRange>& chunks) {
  std::vector<OwnedRange> all;
  for (std::size_t r = 0; r < ranges.size(); ++r)
    for (const SpreadRange& range : ranges[r]) all.push_back({range, r});
  std::ranges::stable_sort(all, {},
                           [](const OwnedRange& owned) { return owned.range.range.begin; });
  std::vector<OwnedRange> once;
  std::size_t next = 0;
  std::size_t longest = 0;  // of those that begin at or before `at`
  for (const BlockRange& chunk : chunks) {
    for (std::int64_t at = chunk.begin; at < chunk.end;) {
      while (next < all.size() && all[next].range.range.begin <= at) {
        if (all[next].range.range.end > all[longest].range.range.end) longest = next;
        ++next;
      }
      expect(next > 0 && all[longest].range.range.end > at, "an owner for every float");
      const SpreadRange& range = all[longest].range;
      const std::int64_t end = std::min(range.range.end, chunk.end);
      expect(at % kLanes == 0 && end % kLanes == 0, "ranges of whole lane groups");
      once.push_back({{{at, end}, range.from + at - range.range.begin},
                      all[longest].owner,
                      at == chunk.begin,
                      BlockRange{at, end} == chunk});
      at = end;
    }
  }
  return once;
}

}  // namespace

SpreadChunks spread_chunks(const std::vector<std::vector<SpreadRange>>& ranges,
                           const std::vector<BlockRange>& chunks, int rank, int arrays) {
  const std::vector<OwnedRange> all = each_float_once(ranges, chunks);
  std::vector<std::int64_t> sums(ranges.size());
  std::vector<std::int64_t> floats(ranges.size());
  for (const OwnedRange& owned : all) {
    if (owned.is_whole)
      sums[owned.owner] += arrays;
    else
      floats[owned.owner] += arrays * owned.range.range.size();
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
    const BlockRange in_own_block{owned.range.from, owned.range.from + range.size()};
    if (owned.is_whole) {
      spread.place.push_back(part / 2 + sums_before[r]);
      sums_before[r] += arrays;
      if (is_own) spread.chunks.push_back(in_own_block);
      continue;
    }
    if (owned.is_first) spread.place.push_back(~static_cast<std::int64_t>(spread.shared.size()));
    const std::int64_t from = 2 * sums[r] + floats_before[r];
    floats_before[r] += arrays * range.size();
    spread.shared.push_back({range, part + from});
    if (is_own) spread.pieces.push_back({in_own_block, from});
  }
  return spread;
}

std::vector<BlockRange> cut_into_chunks(const BlockRange& range) {
  std::vector<BlockRange> chunks;
  for (std::int64_t begin = range.begin; begin < range.end;) {
    const std::int64_t next = (begin / SpreadChunks::kChunk + 1) * SpreadChunks::kChunk;
    chunks.push_back({begin, std::min(next, range.end)});
    begin = chunks.back().end;
  }
  return chunks;
}

}  // namespace quern
