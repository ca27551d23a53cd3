// SPDX-License-Identifier: Apache-2.0
// Work on long arrays: one work item is a chunk, and the loop over it is plain enough to vectorise.
#pragma once

#include <cstdint>
#include <string>

#include "base/ceil_div.hpp"
#include "tensor/parallel_for.hpp"
#include "tensor/types.hpp"

/// Before a loop whose iterations are independent of each other (in place, x[i] = f(x[i]), counts
/// as independent): the compiler need not prove that the arrays do not overlap. GCC writes loops of
/// up to 16 iterations out before it looks for vectors, and then finds few: it is told not to.
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define QUERN_VECTORIZE
#elif defined(__clang__)
#define QUERN_VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define QUERN_VECTORIZE _Pragma("GCC ivdep") _Pragma("GCC unroll 1")
#else
#define QUERN_VECTORIZE
#endif

namespace quern {

/// Floats of a chunk: long enough to hide the cost of a work item, short enough to share the work
/// among threads. On a device every thread takes one element, so that neighbours read neighbours.
inline constexpr std::int64_t kChunk = kHostExecution ? 1024 : 1;

/// The work item of for_each_chunk.
template <class Body>
struct ChunkLoop {
  Body body;
  std::int64_t count;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t chunk) const {
    const std::int64_t begin = chunk * kChunk;
    body(begin, begin + kChunk < count ? begin + kChunk : count);
  }
};

/// Calls body(begin, end) for consecutive chunks of [0, count), in any order.
template <class Body>
void for_each_chunk(const ExecSpace& exec, const std::string& label, std::int64_t count,
                    const Body& body) {
  const std::int64_t num_chunks = ceil_div(count, kChunk);
  quern::parallel_for(label, RangePolicy(exec, 0, num_chunks), ChunkLoop<Body>{body, count});
}

}  // namespace quern
