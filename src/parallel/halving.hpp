// SPDX-License-Identifier: Apache-2.0
// The sum of the partial sums of all ranks, in the order of the fixed tree, in about log2(ranks)
// rounds: recursive halving, then the same rounds backwards (Rabenseifner 2004, with the nearest
// ranks first, as the tree adds them). With one partial sum on each of four ranks:
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
// of a machine with a power of two of ranks is one gradient and not one for each of them.
//
// Where ranks have several partial sums, or none, some of them own a leaf that they add up first,
// and the others get the sum at last (halving_leaves.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "comm/communicator.hpp"
#include "parallel/batch_partition.hpp"
#include "parallel/halving_leaves.hpp"

namespace quern {

/// What a rank does when a node of the tree is added. No part is empty, and none is in `give` and
/// `take`, of which there is at most one.
struct HalvingRound {
  std::vector<RankSegment> give;  ///< to ranks that add them to theirs
  std::vector<RankSegment> take;  ///< and from ranks, to be added
  /// Between a rank that owns no leaf and the one that feeds it: only the last float, a vote, is
  /// added there; back comes the whole vector.
  bool is_feed = false;
};

/// What makes the leaf of a rank before its rounds. The vector's last float takes no part.
struct LeafGathering {
  /// Own partial sums (`number`) that go to the `rank` that owns their leaf.
  std::vector<PartialSum> give = {};
  /// To be added, from left to right; none where the first own partial sum is the leaf already.
  std::vector<PartialSum> parts = {};
  BlockTree::Traversal order = {};  ///< of the parts
};

struct ExchangeLoad {
  // What the rank with most to do does, one thing after the other.
  std::int64_t messages = 0;
  std::int64_t floats = 0;
  std::int64_t all_floats = 0;   ///< that all ranks send; 0: not known
  std::int64_t node_floats = 0;  ///< that leave the node that sends most; 0: not known
};

/// The rounds of one rank. After them, each float of the sum is complete on one rank; backwards,
/// with `take` sent and `give` received, all ranks get all of them.
struct Halving {
  LeafGathering gathering;
  std::vector<HalvingRound> rounds;
  ExchangeLoad load;  ///< of all of it, there and back; equal on all ranks
  /// Has every rank a leaf that is ready, so that there is nothing but rounds? Equal on all ranks.
  bool has_only_rounds = true;

  /// That this rank sends, there and back.
  std::int64_t floats_sent(std::int64_t num_floats) const;
};

/// For vectors of `num_floats` >= 1. `ranks_per_node`: neighbours of which a node has so many; 0:
/// not known.
Halving make_halving(const BatchPartition& partition, std::int64_t num_floats, int rank,
                     int ranks_per_node = 0);

/// Of the other way: every slice of the partial sums to its owner, the sums to everybody.
ExchangeLoad load_of_slices(const BatchPartition& partition, std::int64_t num_floats);

/// Is it quicker to send these messages? By what a message costs beside a float on usual networks
/// and inside of nodes.
bool is_lighter(const ExchangeLoad& load, const ExchangeLoad& other);

/// Halving that is lighter than slices; else nothing. The same answer on all ranks.
std::optional<Halving> make_lighter_halving(const BatchPartition& partition,
                                            std::int64_t num_floats, int rank,
                                            int ranks_per_node = 0);

}  // namespace quern
