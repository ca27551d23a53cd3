// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/roll_call.hpp"

#include <algorithm>
#include <array>
#include <thread>

#include "comm/wait_clock.hpp"

namespace quern {

namespace {

using std::chrono::milliseconds;
using Duration = std::chrono::steady_clock::duration;

// So long a rank waits without a word.
constexpr milliseconds kQuiet{500};
// At least so long until it speaks again.
constexpr milliseconds kPause{1000};
// What a word needs, and those that have come shortly before the end.
constexpr milliseconds kToBeHeard{2000};

// Quick at first, as most waits are short; later without taking the processor from who is late.
void rest(Duration waited) {
  if (waited < milliseconds(2)) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(milliseconds(waited < kQuiet ? 1 : 10));
  }
}

}  // namespace

void RollCall::hear(const MpiCaller& caller, Heard& heard) const {
  for (;;) {
    int found = 0;
    MPI_Status status;
    caller.check(MPI_Iprobe(MPI_ANY_SOURCE, kRollCallTag, comm_, &found, &status), "MPI_Iprobe");
    if (found == 0) return;
    int number = 0;
    caller.check(
        MPI_Recv(&number, 1, MPI_INT, status.MPI_SOURCE, kRollCallTag, comm_, MPI_STATUS_IGNORE),
        "MPI_Recv");
    // One that was late for an earlier call has been heard by the barrier.
    if (number == number_) heard[static_cast<std::size_t>(status.MPI_SOURCE)] = Clock::now();
  }
}

std::vector<int> RollCall::silent(const Heard& heard, Duration pause) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == rank_) continue;
    if (Clock::now() - heard[static_cast<std::size_t>(rank)] > pause + kToBeHeard)
      ranks.push_back(rank);
  }
  return ranks;
}

std::vector<int> RollCall::run(const MpiCaller& caller, milliseconds most) {
  if (size_ == 1) return {};
  const WaitClock::Scope waiting;
  ++number_;
  const Clock::time_point begin = Clock::now();
  MPI_Request barrier = MPI_REQUEST_NULL;
  caller.check(MPI_Ibarrier(comm_, &barrier), "MPI_Ibarrier");
  // The second one is for when the first does not come.
  const std::array listeners{0, size_ - 1};
  const bool listens = rank_ == listeners[0] || rank_ == listeners[1];
  Heard heard(listens ? static_cast<std::size_t>(size_) : 0);
  const Duration pause = std::max(kPause, most / 8);
  Clock::time_point next_word = begin + kQuiet;
  std::vector<MPI_Request> sent;
  for (;;) {
    int all_are_here = 0;
    caller.check(MPI_Test(&barrier, &all_are_here, MPI_STATUS_IGNORE), "MPI_Test");
    if (all_are_here != 0) break;
    const Clock::time_point now = Clock::now();
    const bool speaks = now >= next_word;
    if (speaks) next_word = now + pause;
    for (const int listener : listeners) {
      if (!speaks || listener == rank_) continue;
      sent.push_back(MPI_REQUEST_NULL);
      caller.check(MPI_Isend(&number_, 1, MPI_INT, listener, kRollCallTag, comm_, &sent.back()),
                   "MPI_Isend");
    }
    if (listens && now >= begin + kQuiet) hear(caller, heard);
    if (listens && now >= begin + most + kToBeHeard) {
      std::vector<int> missing = silent(heard, pause);
      // The second listener hears of the first one as of others.
      if (!missing.empty() && (rank_ == 0 || missing.front() == 0)) return missing;
    }
    rest(now - begin);
  }
  if (listens) hear(caller, heard);
  // Of a word that nobody hears any more: MPI sends so few bytes without the receiver.
  caller.check(MPI_Waitall(static_cast<int>(sent.size()), sent.data(), MPI_STATUSES_IGNORE),
               "MPI_Waitall");
  return {};
}

}  // namespace quern
