// SPDX-License-Identifier: Apache-2.0
#include "parallel/batch_partition.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/assert.hpp"
#include "base/ceil_div.hpp"

namespace quern {

namespace {

// Both may be any int.
int rounded_up(int count, int size) {
  return static_cast<int>(ceil_div(std::int64_t{count}, size));
}

int blocks_of(int samples, int block_size) {
  expect(samples >= 1 && block_size >= 1, "samples and block size >= 1");
  return rounded_up(samples, block_size);
}

std::vector<int> equal_shares(int num_blocks, int num_ranks) {
  expect(num_ranks >= 1, "at least one rank");
  const int share = rounded_up(num_blocks, num_ranks);
  std::vector<int> shares(static_cast<std::size_t>(num_ranks));
  for (int& own : shares) {
    own = std::min(share, num_blocks);
    num_blocks -= own;
  }
  return shares;
}

}  // namespace

BatchPartition::BatchPartition(int samples, int block_size, int num_ranks)
    : BatchPartition(samples, block_size, equal_shares(blocks_of(samples, block_size), num_ranks)) {
}

BatchPartition::BatchPartition(int samples, int block_size, const std::vector<int>& shares)
    : samples_(samples), block_size_(block_size), begins_{0} {
  for (const int share : shares) {
    expect(share >= 0, "shares of no fewer than 0 blocks");
    begins_.push_back(begins_.back() + share);
  }
  expect(!shares.empty() && begins_.back() == blocks_of(samples, block_size),
         "shares of all blocks");
}

int BatchPartition::first_block(int rank) const {
  expect(rank >= 0 && rank < num_ranks(), "a rank of the partition");
  return begins_[static_cast<std::size_t>(rank)];
}

int BatchPartition::last_block(int rank) const {
  expect(rank >= 0 && rank < num_ranks(), "a rank of the partition");
  return begins_[static_cast<std::size_t>(rank) + 1];
}

int BatchPartition::first_sample(int rank) const {
  const std::int64_t first = std::int64_t{first_block(rank)} * block_size_;
  return static_cast<int>(std::min<std::int64_t>(first, samples_));
}

int BatchPartition::num_samples(int rank) const {
  const std::int64_t last = std::int64_t{last_block(rank)} * block_size_;
  return static_cast<int>(std::min<std::int64_t>(last, samples_)) - first_sample(rank);
}

int BatchPartition::max_blocks() const {
  int most = 0;
  for (int rank = 0; rank < num_ranks(); ++rank) most = std::max(most, num_blocks(rank));
  return most;
}

}  // namespace quern
