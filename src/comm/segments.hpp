// SPDX-License-Identifier: Apache-2.0
// Preconditions of the exchanges, the same for every transport.
#pragma once

#include <cstdint>
#include <span>

#include "base/assert.hpp"
#include "comm/communicator.hpp"

namespace quern {

/// Sum of the counts; throws Error unless there is one per rank and they fit `mine` and `all`.
inline std::int64_t check_gather(std::size_t mine, std::size_t all,
                                 std::span<const std::int64_t> counts, int rank, int size) {
  expect(counts.size() == static_cast<std::size_t>(size), "one count for each rank");
  std::int64_t total = 0;
  for (const std::int64_t count : counts) {
    expect(count >= 0, "counts that are not negative");
    total += count;
  }
  expect(counts[static_cast<std::size_t>(rank)] == static_cast<std::int64_t>(mine),
         "as many elements as this rank's count");
  expect(total <= static_cast<std::int64_t>(all), "room for the elements of all ranks");
  return total;
}

/// Throws Error unless there is one segment per rank and each lies inside a buffer of `size`.
inline void check_segments(std::span<const Segment> segments, std::size_t size, int num_ranks) {
  expect(segments.size() == static_cast<std::size_t>(num_ranks), "one segment for each rank");
  const auto limit = static_cast<std::int64_t>(size);
  for (const Segment& segment : segments) {
    expect(segment.count >= 0 && segment.offset >= 0 && segment.count <= limit &&
               segment.offset <= limit - segment.count,
           "segments inside the buffer");
  }
}

/// The same of segments that name their rank, each of them another one.
inline void check_segments(std::span<const RankSegment> segments, std::size_t size, int own,
                           int num_ranks) {
  const auto limit = static_cast<std::int64_t>(size);
  for (const RankSegment& segment : segments) {
    expect(segment.rank >= 0 && segment.rank < num_ranks && segment.rank != own,
           "segments for other ranks");
    expect(segment.count >= 0 && segment.offset >= 0 && segment.count <= limit &&
               segment.offset <= limit - segment.count,
           "segments inside the buffer");
  }
}

}  // namespace quern
