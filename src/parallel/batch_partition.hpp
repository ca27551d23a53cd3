// SPDX-License-Identifier: Apache-2.0
// Which samples of a global batch each rank computes.
#pragma once

namespace quern {

/// A batch of `samples` is cut into ceil(samples / block_size) micro-blocks (the last may be
/// short). Every rank owns ceil(blocks / ranks) consecutive blocks; the last ranks own fewer, or
/// none (the rule of torch.chunk).
class BatchPartition {
 public:
  /// All at least 1.
  BatchPartition(int samples, int block_size, int num_ranks);

  int samples() const { return samples_; }
  int block_size() const { return block_size_; }
  int num_ranks() const { return num_ranks_; }
  int num_blocks() const { return num_blocks_; }

  /// Rank `rank` owns the blocks [first_block, last_block), possibly none.
  int first_block(int rank) const;
  int last_block(int rank) const;
  int num_blocks(int rank) const { return last_block(rank) - first_block(rank); }

  /// And the samples [first_sample, first_sample + num_samples) of the batch.
  int first_sample(int rank) const;
  int num_samples(int rank) const;

  /// Most blocks any rank owns (those of rank 0): what buffers must hold.
  int max_blocks() const { return blocks_per_rank_; }

  friend bool operator==(const BatchPartition&, const BatchPartition&) = default;

 private:
  int samples_;
  int block_size_;
  int num_ranks_;
  int num_blocks_;
  int blocks_per_rank_;
};

}  // namespace quern
