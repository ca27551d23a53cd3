// SPDX-License-Identifier: Apache-2.0
// Who sums up what of a gradient block whose floats lie on several ranks, so that the sum is that
// of one rank: the block is cut into chunks, whose squares are summed up one after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/parameter_block.hpp"

namespace quern {

/// Floats of the block that a rank has, from `from` on in its own gradient.
struct SpreadRange {
  BlockRange range;
  std::int64_t from = 0;

  friend bool operator==(const SpreadRange&, const SpreadRange&) = default;
};

/// A chunk that one rank has is summed up there, and the sum goes to everybody. Of a chunk that
/// several ranks have pieces of, the floats go to everybody: the sums of a chunk are chains that
/// begin where it begins. What several ranks have, one of them hands out.
///
/// Each rank's part of the exchange: the sums of its chunks, then the floats of its pieces, then
/// room up to the size of the largest part.
struct SpreadChunks {
  static constexpr std::int64_t kChunk = 4096;

  // Of this rank.
  std::vector<BlockRange> chunks;   ///< that it sums up, in its own gradient
  std::vector<SpreadRange> pieces;  ///< that it hands out: in its gradient; `from`: in the part

  // Of all.
  std::int64_t part_floats = 0;  ///< of a rank's part of the exchange; a multiple of kLanes
  /// Of every chunk of the block: the number of its sum among the doubles of all parts, or ~i: its
  /// floats are shared[i] and what follows, up to the end of the chunk.
  std::vector<std::int64_t> place;
  std::vector<SpreadRange> shared;  ///< `from`: among the floats of all parts
};

/// For rank `rank` of those that have `ranges` of a block of `block_size` floats. Ranges begin and
/// end at multiples of kLanes, rise, may overlap those of other ranks, may end after the block, and
/// together have all of it.
SpreadChunks spread_chunks(const std::vector<std::vector<SpreadRange>>& ranges,
                           std::int64_t block_size, int rank);

}  // namespace quern
