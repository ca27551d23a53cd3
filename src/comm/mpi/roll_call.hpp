// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <chrono>
#include <vector>

#include "comm/mpi/error.hpp"

namespace quern {

/// Tells who is missing: beside the barrier, ranks that have waited a while say by a message that
/// they are there, and again from time to time, as one may stop in the barrier, too. Nothing is
/// sent where all come at once.
class RollCall {
 public:
  RollCall(MPI_Comm comm, int rank, int size) : comm_(comm), rank_(rank), size_(size) {}

  /// As Communicator::roll_call().
  std::vector<int> run(const MpiCaller& caller, std::chrono::milliseconds most);

 private:
  using Clock = std::chrono::steady_clock;
  /// When each rank was heard.
  using Heard = std::vector<Clock::time_point>;

  void hear(const MpiCaller& caller, Heard& heard) const;
  /// Those that have not been heard for longer than `pause` and the way takes.
  std::vector<int> silent(const Heard& heard, Clock::duration pause) const;

  MPI_Comm comm_;
  int rank_;
  int size_;
  int number_ = 0;
};

/// Above those of messages (Communicator::make_send()), below that of segments.
inline constexpr int kRollCallTag = 32766;

}  // namespace quern
