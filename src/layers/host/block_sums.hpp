// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tensor/types.hpp"

namespace quern::host {

/// The sums of blocks that a work item has open, in the order of the block tree: rows of so many
/// floats, one after the other, in memory that the item hands over. For few floats that need none
/// see BlockStack (conv2d_loops.hpp).
class BlockSums {
 public:
  /// `depth`: BlockSchedule::depth.
  BlockSums(int depth, std::int64_t row) : depth_(depth), row_(row) {}

  /// Of memory, whole lane groups.
  std::int64_t floats() const { return round_up_to_lanes(depth_ * row_); }
  /// Before all that follows.
  void take(float* memory) { memory_ = memory; }

  /// Where the sums of the next block belong.
  float* next() const { return memory_ + open_ * row_; }
  /// The sums that the next block's are added to: what comes of merge 0 goes to left(0), and is
  /// itself added to left(1) by merge 1.
  float* left(int merge) const { return next() - (merge + 1) * row_; }
  /// They are there: adds them to those before them, BlockSchedule::host_merges() times. Of each
  /// row the floats from `first` on: the caller has added those before.
  void end_block(int merges, std::int64_t first = 0) {
    for (int merge = 0; merge < merges; ++merge) {
      float* to = left(merge);
      const float* top = to + row_;
      for (std::int64_t k = first; k < row_; ++k) to[k] = to[k] + top[k];
    }
    open_ += 1 - merges;
  }

  /// After the last block these are the partial sums.
  int count() const { return open_; }
  const float* operator[](int i) const { return memory_ + i * row_; }

 private:
  int depth_;
  std::int64_t row_;
  float* memory_ = nullptr;
  int open_ = 0;
};

}  // namespace quern::host
