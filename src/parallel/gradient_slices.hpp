// SPDX-License-Identifier: Apache-2.0
// Who adds which part of the gradient.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/types.hpp"

namespace quern {

/// The floats [0, num_floats) cut into one slice per rank: consecutive, of equal size (a multiple
/// of `unit`) but the last, which may be shorter; ranks beyond the end own nothing.
class GradientSlices {
 public:
  /// All at least 1, `unit` a multiple of kLanes.
  GradientSlices(std::int64_t num_floats, int num_ranks, std::int64_t unit = kLanes);

  std::int64_t num_floats() const { return num_floats_; }
  std::int64_t slice_size() const { return slice_size_; }

  std::int64_t begin(int rank) const { return std::min(num_floats_, rank * slice_size_); }
  std::int64_t end(int rank) const { return begin(rank + 1); }
  std::int64_t count(int rank) const { return end(rank) - begin(rank); }

  /// Votes that travel after a slice: one after the last float, none after other slices.
  int num_votes(int rank) const { return count(rank) > 0 && end(rank) == num_floats_ ? 1 : 0; }

 private:
  std::int64_t num_floats_;
  std::int64_t slice_size_;
};

}  // namespace quern
