// SPDX-License-Identifier: Apache-2.0
// The sum of one partial sum of each rank, in the order of the fixed tree, in about log2(ranks)
// rounds: recursive halving, then the same rounds backwards (Rabenseifner 2004, with the nearest
// ranks first, as the tree adds them).
//
//   rank 0  a b c d   a b . .   a . . .   a b . .   a b c d
//   rank 1  a b c d   . . c d   . . c .   . . c d   a b c d
//   rank 2  a b c d   a b . .   . b . .   a b . .   a b c d
//   rank 3  a b c d   . . c d   . . . d   . . c d   a b c d
//                   0+1   2+3  (0+1)+(2+3)
//
// Where a node of the tree is added, the ranks below its children meet. With as many on either
// side, each pair halves what both have; else those of the side with fewer hand theirs to the
// others. So the first rounds, with the most floats, stay inside of nodes, and what leaves a node
// of a machine is one gradient and not one for each of its ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "comm/communicator.hpp"
#include "parallel/batch_partition.hpp"

namespace quern {

/// What a rank does when a node of the tree is added. No part is empty, and none is in `give` and
/// `take`, of which there is at most one.
struct HalvingRound {
  std::vector<RankSegment> give;  ///< to ranks that add them to theirs
  std::vector<RankSegment> take;  ///< and from ranks, to be added
};

/// What the rank with most to do does, one thing after the other.
struct ExchangeLoad {
  std::int64_t messages = 0;
  std::int64_t floats = 0;
};

/// The rounds of one rank. After them, each float of the sum is complete on one rank; backwards,
/// with `take` sent and `give` received, all ranks get all of them.
struct Halving {
  std::vector<HalvingRound> rounds;
  ExchangeLoad load;  ///< of all rounds, there and back; equal on all ranks
};

/// For vectors of `num_floats` >= 1. Nothing where a rank has no partial sum under the partition,
/// or several.
std::optional<Halving> make_halving(const BatchPartition& partition, std::int64_t num_floats,
                                    int rank);

/// Of the other way: every slice to its owner, the sums to everybody.
ExchangeLoad load_of_slices(std::int64_t num_floats, int num_ranks);

/// Is it quicker to send these messages? By what a message costs beside a float on usual networks
/// and inside of nodes.
bool is_lighter(const ExchangeLoad& load, const ExchangeLoad& other);

/// Rounds that are lighter than slices; else nothing. The same answer on all ranks.
std::optional<Halving> make_lighter_halving(const BatchPartition& partition,
                                            std::int64_t num_floats, int rank);

}  // namespace quern
