// SPDX-License-Identifier: Apache-2.0
// Sums of squares of the chunks of a block, whose floats may lie on several ranks: the same bits
// for any number of ranks and threads.
#pragma once

#include <functional>
#include <vector>

#include "optim/spread_chunks.hpp"
#include "optim/squares.hpp"

namespace quern {

/// Gives everybody everybody's floats of an array, whose equal parts are in rank order; this rank's
/// stands at its place. None: there is one rank.
using AllGather = std::function<void(const FloatView& all)>;

/// The sums where kernels read them.
struct ChunkSums {
  int arrays = 1;
  View<double> sums;
  // Of SpreadChunks.
  View<const std::int64_t> place;
  View<const SpreadRange> shared;
  View<const std::int64_t> ends;  ///< of all chunks

  /// The squares of a chunk of one of the arrays.
  KOKKOS_INLINE_FUNCTION double of(std::int64_t chunk, int array) const {
    if (place(chunk) >= 0) return sums(place(chunk) + array);
    const auto* floats = reinterpret_cast<const float*>(sums.data());
    double lane[kLanes] = {};
    const SpreadRange* piece = &shared(~place(chunk));
    for (bool is_last = false; !is_last; ++piece) {
      const std::int64_t count = piece->range.end - piece->range.begin;
      add_squares(floats + piece->from + array * count, count, lane);
      is_last = piece->range.end == ends(chunk);
    }
    return sum_of_lanes(lane);
  }
};

class SpreadSquares {
 public:
  /// What a rank adds: of its own block, or of a part of it.
  struct Share {
    View<const BlockRange> chunks;
    View<const SpreadRange> pieces;
    std::int64_t first_sum = 0;  ///< in ChunkSums::sums
    std::int64_t part = 0;       ///< the rank's, in floats
  };

  /// None.
  SpreadSquares() = default;
  /// Of `arrays` arrays shaped like a block that is cut into `chunks`, see spread_chunks() for the
  /// rest.
  SpreadSquares(const std::vector<BlockRange>& chunks, int arrays,
                const std::vector<std::vector<SpreadRange>>& ranges, int rank);

  /// What of this rank's lies in `own`, a range of its own block in which its ranges end.
  Share share(const BlockRange& own) const;

  /// Overwrites the share's sums, and its floats of shared chunks. Labels of kernels: `label` for
  /// the sums, "quern::optim::pieces_of_chunks".
  void add(const ExecSpace& exec, const char* label, const Share& share,
           const SquaredArrays& arrays) const;

  /// All shares of this rank are added: fetches those of the others. Collective.
  void gather(const AllGather& all_gather) const;

  /// What follows gather() sees them.
  const ChunkSums& sums() const { return sums_; }

 private:
  std::vector<BlockRange> chunks_;        // of this rank, in its own block
  std::vector<SpreadRange> pieces_;       // likewise
  View<const BlockRange> kernel_chunks_;  // the same where kernels read them
  View<const SpreadRange> kernel_pieces_;
  std::int64_t part_ = 0;  // of this rank, among the floats of all
  ChunkSums sums_;
};

}  // namespace quern
