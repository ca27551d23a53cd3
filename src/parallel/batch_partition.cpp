// SPDX-License-Identifier: Apache-2.0
#include "parallel/batch_partition.hpp"

#include <algorithm>
#include <cstdint>

#include "base/assert.hpp"

namespace quern {

BatchPartition::BatchPartition(int samples, int block_size, int num_ranks)
    : samples_(samples), block_size_(block_size), num_ranks_(num_ranks) {
  expect(samples >= 1 && block_size >= 1 && num_ranks >= 1, "samples, block size and ranks >= 1");
  num_blocks_ = (samples - 1) / block_size + 1;
  blocks_per_rank_ = (num_blocks_ - 1) / num_ranks + 1;
}

int BatchPartition::first_block(int rank) const {
  expect(rank >= 0 && rank < num_ranks_, "a rank of the partition");
  const std::int64_t first = std::int64_t{rank} * blocks_per_rank_;
  return static_cast<int>(std::min<std::int64_t>(first, num_blocks_));
}

int BatchPartition::last_block(int rank) const {
  return std::min(num_blocks_, first_block(rank) + blocks_per_rank_);
}

int BatchPartition::first_sample(int rank) const {
  const std::int64_t first = std::int64_t{first_block(rank)} * block_size_;
  return static_cast<int>(std::min<std::int64_t>(first, samples_));
}

int BatchPartition::num_samples(int rank) const {
  const std::int64_t last = std::int64_t{last_block(rank)} * block_size_;
  return static_cast<int>(std::min<std::int64_t>(last, samples_)) - first_sample(rank);
}

}  // namespace quern
