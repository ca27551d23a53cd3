// SPDX-License-Identifier: Apache-2.0
// The local part of the fixed summation tree, where kernels can read it.
#pragma once

#include <vector>

#include "base/block_tree.hpp"
#include "tensor/types.hpp"

namespace quern {

/// Which micro-blocks of the global batch this rank computes, and in which order their sums are
/// added. Kernels that reduce over samples process the blocks j = 0 .. num_blocks - 1 (rows
/// [j * block_rows, (j + 1) * block_rows)), push each block's sum on a stack, and then add the
/// two topmost entries merges(j) times. What remains at the end, from left to right, are the
/// partial sums.
struct BlockSchedule {
  /// Of the largest batch's tree, with its top on both sides of a rank's blocks.
  static constexpr int kMaxDepth = 40;
  static constexpr int kMaxBlocks = (1 << 20) - 1;  ///< of a batch

  int num_blocks = 0;        ///< blocks of this rank, may be 0
  int block_rows = 0;        ///< rows of each block
  int block_samples = 0;     ///< the first of them that hold samples, the others are empty
  int last_samples = 0;      ///< the same of the last block, which may be short
  int num_partial_sums = 0;  ///< sums this rank hands on
  int depth = 0;             ///< the most sums that are on the stack at once
  View<const int> merges;
  Kokkos::View<const int*, Kokkos::HostSpace> host_merges;  ///< the same, for host micro-kernels
  /// Of how many blocks each of the sums is that are handed on, in order.
  Kokkos::View<const int*, Kokkos::HostSpace> partial_sum_blocks;

  int rows() const { return num_blocks * block_rows; }

  /// How many of the kLanes rows of lane group `group` hold samples: the first ones.
  int samples_of_group(int group) const;
  /// The first lane group from which on all have at most `most` samples; rows() / kLanes: none.
  int first_group_of_few(int most) const;
};

/// Schedule of the owner of blocks [first, last) of a batch of `total` blocks. All rows hold
/// samples.
BlockSchedule make_block_schedule(int first, int last, int total, int block_rows);

/// The most sums that are on the stack at once (BlockSchedule::depth) with so many neighbouring
/// blocks of any batch, at most.
int most_depth(int blocks);

/// The largest batch that memory is for.
struct BatchLimit {
  int rows;
  int block_rows;  ///< of a micro-block, at least

  /// Any number of rows may be a micro-block, unless it is said.
  BatchLimit(int max_rows, int least_block_rows = 1)  // NOLINT(google-explicit-constructor)
      : rows(max_rows), block_rows(least_block_rows) {}
  int blocks() const { return rows / block_rows; }
};

/// Gradient sums of this rank: partial sum p occupies floats [p * stride, (p + 1) * stride) of
/// data. Kernels overwrite; nobody has to zero it.
struct GradientSums {
  FloatView data;
  std::int64_t stride = 0;
};

}  // namespace quern
