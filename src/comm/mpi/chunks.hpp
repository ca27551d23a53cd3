// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace quern {

/// MPI counts are int.
inline constexpr std::int64_t kMaxCount = std::numeric_limits<int>::max();

/// Longer buffers go in pieces of this many elements.
inline constexpr std::size_t kMaxChunk = std::size_t{1} << 30;

/// Calls `call(piece)` for consecutive pieces of at most `limit` elements.
template <class T, class Call>
void for_each_chunk(std::span<T> values, Call&& call, std::size_t limit = kMaxChunk) {
  for (std::size_t begin = 0; begin < values.size(); begin += limit) {
    call(values.subspan(begin, std::min(limit, values.size() - begin)));
  }
}

}  // namespace quern
