// SPDX-License-Identifier: Apache-2.0
// Sums of squares in double for norms: lane l adds the values l, l + 16, ..., then the lanes are
// added as a tree.
#pragma once

#include <string>

#include "tensor/kernel_choice.hpp"
#include "tensor/parameter_block.hpp"

namespace quern {

/// What is summed up: one or two arrays, in which a rank's own block has the same places.
struct SquaredArrays {
  static constexpr int kMost = 2;

  int count = 1;
  const float* array[kMost] = {};
};

/// Of whole lane groups.
KOKKOS_INLINE_FUNCTION void add_squares(const float* values, std::int64_t count, double* lane) {
  for (std::int64_t i = 0; i < count; i += kLanes)
    for (int l = 0; l < kLanes; ++l) {
      const double value = values[i + l];
      lane[l] += value * value;
    }
}

KOKKOS_INLINE_FUNCTION double sum_of_lanes(double* lane) {
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int l = 0; l < width; ++l) lane[l] += lane[l + width];
  return lane[0];
}

/// Overwrites sums[i * arrays.count + a] with the squares of chunk chunks(i) of array a.
using SumChunks = void(const ExecSpace& exec, const std::string& label, const SquaredArrays& arrays,
                       const View<const BlockRange>& chunks, double* sums);

namespace host {
SumChunks sum_chunks;
}
namespace device {
SumChunks sum_chunks;
}

}  // namespace quern
