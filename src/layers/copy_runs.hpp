// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tensor/chunks.hpp"

namespace quern {

/// The body of a loop over the floats of all runs (for_each_chunk): copies runs of `length` floats,
/// which lie at equal distances in either array.
struct CopyRuns {
  const float* from;
  std::int64_t from_stride;
  float* to;
  std::int64_t to_stride;
  std::int64_t length;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t begin, std::int64_t end) const {
    while (begin < end) {
      const std::int64_t run = begin / length;
      const std::int64_t at = begin % length;
      const std::int64_t left = length - at;
      const std::int64_t count = end - begin < left ? end - begin : left;
      const float* in = from + run * from_stride + at;
      float* out = to + run * to_stride + at;
      QUERN_VECTORIZE
      for (std::int64_t i = 0; i < count; ++i) out[i] = in[i];
      begin += count;
    }
  }
};

}  // namespace quern
