// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/message.hpp"

#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/wait_clock.hpp"

namespace quern {

namespace {

struct Send {
  MPI_Request* request;
  const MpiCaller* caller;
};

// Those that were not complete when somebody looked last. One thread calls MPI.
std::vector<Send>& sends_under_way() {
  static std::vector<Send> sends;
  return sends;
}

void forget_send(const MPI_Request* request) {
  std::erase_if(sends_under_way(), [&](const Send& send) { return send.request == request; });
}

}  // namespace

MpiMessage::MpiMessage(std::vector<Part> parts, const MpiCaller& caller, End end)
    : parts_(std::move(parts)), caller_(caller), end_(end) {}

// Local to this rank. A receive under way must not write into a buffer that ends with it: one that
// was started for a step that never came, or that an error left.
MpiMessage::~MpiMessage() {
  for (Part& part : parts_) {
    forget_send(&part.request);
    if (part.under_way && end_ == End::receive) {
      caller_.check_quietly(MPI_Cancel(&part.request), "MPI_Cancel");
      caller_.check_quietly(MPI_Wait(&part.request, MPI_STATUS_IGNORE), "MPI_Wait");
    }
    caller_.check_quietly(MPI_Request_free(&part.request), "MPI_Request_free");
  }
}

void MpiMessage::start() {
  for (Part& part : parts_) {
    caller_.check(MPI_Start(&part.request), "MPI_Start");
    part.under_way = true;
    if (end_ == End::send) sends_under_way().push_back({&part.request, &caller_});
  }
}

void MpiMessage::wait() {
  const WaitClock::Scope waiting;
  for (Part& part : parts_) wait_for(part);
}

void MpiMessage::wait_for(Part& part) {
  MPI_Status status;
  caller_.check(MPI_Wait(&part.request, &status), "MPI_Wait");
  part.under_way = false;
  if (end_ == End::send) return forget_send(&part.request);
  int count = 0;
  caller_.check(MPI_Get_count(&status, MPI_FLOAT, &count), "MPI_Get_count");
  // MPI reports a message that is too long by itself.
  if (count != part.count) {
    throw Error("rank " + std::to_string(caller_.rank) + " (" + caller_.host + ") received " +
                std::to_string(count) + " floats where " + std::to_string(part.count) +
                " were expected");
  }
}

// A request that is complete stays: waiting for it returns at once.
bool MpiMessage::advance_sends() {
  std::erase_if(sends_under_way(), [](const Send& send) {
    int is_complete = 0;
    send.caller->check(MPI_Test(send.request, &is_complete, MPI_STATUS_IGNORE), "MPI_Test");
    return is_complete != 0;
  });
  return !sends_under_way().empty();
}

}  // namespace quern
