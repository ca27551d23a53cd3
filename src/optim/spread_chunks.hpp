// SPDX-License-Identifier: Apache-2.0
// Who sums up what of a block whose floats lie on several ranks, so that the sums are those of one
// rank: the block is cut into chunks, whose squares are summed up one by one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tensor/parameter_block.hpp"

namespace quern {

/// Floats of the block that a rank has, from `from` on in its own block.
struct SpreadRange {
  BlockRange range;
  std::int64_t from = 0;

  friend bool operator==(const SpreadRange&, const SpreadRange&) = default;
};

/// Of several arrays shaped like the block. A chunk that one rank has is summed up there, and the
/// sums go to everybody. Of a chunk that several ranks have pieces of, the floats go to everybody:
/// the sums of a chunk are chains that begin where it begins. What several ranks have, one of them
/// hands out.
///
/// Each rank's part of the exchange: the sums of its chunks, then the floats of its pieces, then
/// room up to the size of the largest part. Of a chunk or piece the arrays follow each other.
struct SpreadChunks {
  static constexpr std::int64_t kChunk = 4096;  ///< floats of a chunk, at most

  // Of this rank, rising.
  std::vector<BlockRange> chunks;   ///< that it sums up, in its own block
  std::vector<SpreadRange> pieces;  ///< that it hands out: in its block; `from`: in the part

  // Of all.
  std::int64_t part_floats = 0;  ///< of a rank's part of the exchange; a multiple of kLanes
  /// Of every chunk of the block: the number of its first sum among the doubles of all parts, or
  /// ~i: its floats are shared[i] and what follows, up to the end of the chunk.
  std::vector<std::int64_t> place;
  std::vector<SpreadRange> shared;  ///< `from`: among the floats of all parts
};

/// For rank `rank` of those that have `ranges` of a block that is cut into `chunks`, and of
/// `arrays` arrays. Chunks follow each other. Ranges begin and end at multiples of kLanes, rise,
/// may overlap those of other ranks, may end after the block, and together have all of it.
SpreadChunks spread_chunks(const std::vector<std::vector<SpreadRange>>& ranges,
                           const std::vector<BlockRange>& chunks, int rank, int arrays);

/// Cuts `range` at the multiples of SpreadChunks::kChunk.
std::vector<BlockRange> cut_into_chunks(const BlockRange& range);

/// Calls visit(entry, its floats in the block with the gap after them) for what is trained, in the
/// order of the block.
template <class Visit>
void for_each_trained(const ParameterTable& table, const Visit& visit) {
  const ParameterEntry* before = nullptr;
  for (const ParameterEntry& entry : table.entries()) {
    if (!entry.is_trained()) continue;
    if (before) visit(*before, BlockRange{before->offset, entry.offset});
    before = &entry;
  }
  if (before) visit(*before, BlockRange{before->offset, table.trained_size()});
}

}  // namespace quern
