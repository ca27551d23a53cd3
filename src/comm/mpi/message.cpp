// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/message.hpp"

#include <string>

#include "base/error.hpp"
#include "comm/wait_clock.hpp"

namespace quern {

MpiMessage::MpiMessage(MPI_Request request, std::size_t size, const MpiCaller& caller, End end)
    : request_(request), size_(size), caller_(caller), end_(end) {}

// Local to this rank. A transfer under way, which only an error leaves, must not write into a
// buffer that ends with it.
MpiMessage::~MpiMessage() {
  if (under_way_ && end_ == End::receive) {
    caller_.check_quietly(MPI_Cancel(&request_), "MPI_Cancel");
    caller_.check_quietly(MPI_Wait(&request_, MPI_STATUS_IGNORE), "MPI_Wait");
  }
  caller_.check_quietly(MPI_Request_free(&request_), "MPI_Request_free");
}

void MpiMessage::start() {
  caller_.check(MPI_Start(&request_), "MPI_Start");
  under_way_ = true;
}

void MpiMessage::wait() {
  const WaitClock::Scope waiting;
  MPI_Status status;
  caller_.check(MPI_Wait(&request_, &status), "MPI_Wait");
  under_way_ = false;
  if (end_ == End::send) return;
  int count = 0;
  caller_.check(MPI_Get_count(&status, MPI_FLOAT, &count), "MPI_Get_count");
  // MPI reports a message that is too long by itself.
  if (static_cast<std::size_t>(count) != size_) {
    throw Error("rank " + std::to_string(caller_.rank) + " (" + caller_.host + ") received " +
                std::to_string(count) + " floats where " + std::to_string(size_) +
                " were expected");
  }
}

}  // namespace quern
