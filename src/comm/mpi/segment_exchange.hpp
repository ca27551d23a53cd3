// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/mpi/error.hpp"

namespace quern {

/// MPI's counts and displacements of all ranks, kept so that no exchange allocates.
struct CountTable {
  explicit CountTable(int size = 0)
      : counts(static_cast<std::size_t>(size)), offsets(static_cast<std::size_t>(size)) {}

  std::vector<int> counts;
  std::vector<int> offsets;
};

/// MPI_Alltoallv of segments of any length anywhere in buffers of any length. MPI counts and
/// measures in int. How long a segment is the two ranks know that it is for, and nobody else: these
/// two send one that is longer than a rank's share of MPI's count as messages, and MPI_Alltoallv
/// moves the rest, which cannot come to more.
class SegmentExchange {
 public:
  /// Ranks of `comm`, and the floats that one call may move: at least one of each rank.
  SegmentExchange(MPI_Comm comm, int size, std::int64_t most_at_once);

  /// Collective; as Communicator::all_to_all_v(), for segments that were checked.
  void run(const MpiCaller& caller, std::span<const float> send, std::span<const Segment> send_to,
           std::span<float> receive, std::span<const Segment> receive_from);

 private:
  /// Where the segments of one side are that MPI_Alltoallv moves.
  struct Side {
    explicit Side(int size) : table(size) {}

    CountTable table;
    std::int64_t first = 0;     ///< float that the offsets count from
    bool is_packed = false;     ///< they lie too far apart: one after the other in `packed`
    std::vector<float> packed;  ///< empty but for that
  };

  bool is_long(const Segment& segment) const { return segment.count > share_; }
  void place(Side& side, std::span<const Segment> segments) const;
  void pack(Side& side, std::span<const float> from, std::span<const Segment> segments) const;
  void unpack(const Side& side, std::span<float> to, std::span<const Segment> segments) const;
  std::vector<MPI_Request> start_long(const MpiCaller& caller, std::span<const float> send,
                                      std::span<const Segment> send_to, std::span<float> receive,
                                      std::span<const Segment> receive_from) const;

  MPI_Comm comm_;
  std::int64_t most_at_once_;
  std::int64_t share_;
  Side send_;
  Side receive_;
};

/// Of the messages of a SegmentExchange; others on its communicator have lower ones. The largest
/// that every MPI has.
inline constexpr int kSegmentTag = 32767;

}  // namespace quern
