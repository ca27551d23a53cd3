// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/segment_exchange.hpp"

#include <algorithm>
#include <limits>

#include "base/assert.hpp"
#include "comm/mpi/chunks.hpp"

namespace quern {

namespace {

template <class T>
std::span<T> part(std::span<T> floats, const Segment& segment) {
  return floats.subspan(static_cast<std::size_t>(segment.offset),
                        static_cast<std::size_t>(segment.count));
}

}  // namespace

SegmentExchange::SegmentExchange(MPI_Comm comm, int size, std::int64_t most_at_once)
    : comm_(comm),
      most_at_once_(most_at_once),
      share_(most_at_once / size),
      send_(size),
      receive_(size) {
  expect(share_ >= 1 && most_at_once <= std::numeric_limits<int>::max(),
         "at least one float of each rank at once, and at most MPI's count");
}

void SegmentExchange::place(Side& side, std::span<const Segment> segments) const {
  const auto is_moved = [&](const Segment& segment) {
    return segment.count > 0 && !is_long(segment);
  };
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = 0;
  for (const Segment& segment : segments) {
    if (!is_moved(segment)) continue;
    begin = std::min(begin, segment.offset);
    end = std::max(end, segment.offset + segment.count);
  }
  side.is_packed = end > begin && end - begin > most_at_once_;
  side.first = end > begin && !side.is_packed ? begin : 0;
  std::int64_t packed = 0;
  for (std::size_t rank = 0; rank < segments.size(); ++rank) {
    const Segment& segment = segments[rank];
    const std::int64_t count = is_moved(segment) ? segment.count : 0;
    const std::int64_t offset = side.is_packed ? packed : segment.offset - side.first;
    side.table.counts[rank] = static_cast<int>(count);
    side.table.offsets[rank] = count > 0 ? static_cast<int>(offset) : 0;
    packed += count;
  }
  side.packed.resize(side.is_packed ? static_cast<std::size_t>(packed) : 0);
}

void SegmentExchange::pack(Side& side, std::span<const float> from,
                           std::span<const Segment> segments) const {
  for (std::size_t rank = 0; rank < segments.size(); ++rank) {
    if (side.table.counts[rank] > 0)
      std::ranges::copy(part(from, segments[rank]), side.packed.begin() + side.table.offsets[rank]);
  }
}

void SegmentExchange::unpack(const Side& side, std::span<float> to,
                             std::span<const Segment> segments) const {
  for (std::size_t rank = 0; rank < segments.size(); ++rank) {
    if (side.table.counts[rank] > 0)
      std::copy_n(side.packed.begin() + side.table.offsets[rank], segments[rank].count,
                  part(to, segments[rank]).begin());
  }
}

std::vector<MPI_Request> SegmentExchange::start_long(const MpiCaller& caller,
                                                     std::span<const float> send,
                                                     std::span<const Segment> send_to,
                                                     std::span<float> receive,
                                                     std::span<const Segment> receive_from) const {
  std::vector<MPI_Request> requests;
  const auto limit = std::min(kMaxChunk, static_cast<std::size_t>(most_at_once_));
  const auto each = [&](auto floats, std::span<const Segment> segments, const auto& start) {
    for (std::size_t rank = 0; rank < segments.size(); ++rank) {
      if (!is_long(segments[rank])) continue;
      for_each_chunk(
          part(floats, segments[rank]),
          [&](auto chunk) {
            start(chunk.data(), static_cast<int>(chunk.size()), static_cast<int>(rank),
                  &requests.emplace_back());
          },
          limit);
    }
  };
  each(receive, receive_from, [&](float* to, int count, int rank, MPI_Request* request) {
    caller.check(MPI_Irecv(to, count, MPI_FLOAT, rank, kSegmentTag, comm_, request), "MPI_Irecv");
  });
  each(send, send_to, [&](const float* from, int count, int rank, MPI_Request* request) {
    caller.check(MPI_Isend(from, count, MPI_FLOAT, rank, kSegmentTag, comm_, request), "MPI_Isend");
  });
  return requests;
}

void SegmentExchange::run(const MpiCaller& caller, std::span<const float> send,
                          std::span<const Segment> send_to, std::span<float> receive,
                          std::span<const Segment> receive_from) {
  std::vector<MPI_Request> requests = start_long(caller, send, send_to, receive, receive_from);
  place(send_, send_to);
  place(receive_, receive_from);
  if (send_.is_packed) pack(send_, send, send_to);
  const float* from = send_.is_packed ? send_.packed.data() : send.data() + send_.first;
  float* to = receive_.is_packed ? receive_.packed.data() : receive.data() + receive_.first;
  caller.check(
      MPI_Alltoallv(from, send_.table.counts.data(), send_.table.offsets.data(), MPI_FLOAT, to,
                    receive_.table.counts.data(), receive_.table.offsets.data(), MPI_FLOAT, comm_),
      "MPI_Alltoallv");
  if (receive_.is_packed) unpack(receive_, receive, receive_from);
  if (requests.empty()) return;
  caller.check(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
               "MPI_Waitall");
}

}  // namespace quern
