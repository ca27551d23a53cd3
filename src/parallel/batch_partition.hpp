// SPDX-License-Identifier: Apache-2.0
// Which samples of a global batch each rank computes.
#pragma once

#include <vector>

namespace quern {

/// A batch of `samples` is cut into ceil(samples / block_size) micro-blocks (the last may be
/// short). Every rank owns consecutive blocks, in the order of ranks.
class BatchPartition {
 public:
  /// Equal shares: ceil(blocks / ranks) blocks each; the last ranks own fewer, or none (the rule of
  /// torch.chunk). All at least 1.
  BatchPartition(int samples, int block_size, int num_ranks);

  /// shares[rank] blocks each, at least 0, together all of them.
  BatchPartition(int samples, int block_size, const std::vector<int>& shares);

  int samples() const { return samples_; }
  int block_size() const { return block_size_; }
  int num_ranks() const { return static_cast<int>(begins_.size()) - 1; }
  int num_blocks() const { return begins_.back(); }

  /// Rank `rank` owns the blocks [first_block, last_block), possibly none.
  int first_block(int rank) const;
  int last_block(int rank) const;
  int num_blocks(int rank) const { return last_block(rank) - first_block(rank); }

  /// And the samples [first_sample, first_sample + num_samples) of the batch.
  int first_sample(int rank) const;
  int num_samples(int rank) const;

  /// Most blocks any rank owns: what buffers must hold.
  int max_blocks() const;

  friend bool operator==(const BatchPartition&, const BatchPartition&) = default;

 private:
  int samples_;
  int block_size_;
  std::vector<int> begins_;  ///< the first block of each rank, and at the end their number
};

}  // namespace quern
