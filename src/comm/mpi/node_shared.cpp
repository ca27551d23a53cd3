// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/node_shared.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>

#include "base/assert.hpp"
#include "base/ceil_div.hpp"
#include "base/large_pages.hpp"
#include "comm/mpi/message.hpp"
#include "comm/wait_clock.hpp"

namespace quern {

namespace {

// Bytes begin on a cache line, so that nobody shares one with a neighbour by accident.
constexpr std::size_t kLineBytes = alignof(NodeBarrier::State);

}  // namespace

MpiNodeShared::MpiNodeShared(MPI_Comm node, const MpiCaller& caller, std::size_t bytes)
    : node_(node), caller_(caller), exceptions_at_start_(std::uncaught_exceptions()) {
  caller_.check(MPI_Comm_rank(node, &node_rank_), "MPI_Comm_rank");
  caller_.check(MPI_Comm_size(node, &node_size_), "MPI_Comm_size");
  allocate(bytes);
  zero_fill();
}

void MpiNodeShared::allocate(std::size_t bytes) {
  const std::size_t all = kLineBytes + sizeof(NodeBarrier::State) + bytes;
  void* base = nullptr;
  caller_.check(MPI_Win_allocate_shared(is_leader() ? static_cast<MPI_Aint>(all) : 0, 1,
                                        MPI_INFO_NULL, node_, &base, &window_),
                "MPI_Win_allocate_shared");
  caller_.check(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
  MPI_Aint size = 0;
  int unit = 0;
  caller_.check(MPI_Win_shared_query(window_, 0, &size, &unit, &base), "MPI_Win_shared_query");
  caller_.check(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
  // Windows are mapped page by page: the next line begins at the same place for all ranks.
  std::size_t room = all;
  base = std::align(kLineBytes, all - kLineBytes, base, room);
  expect(base != nullptr, "a window with room for an aligned block");
  barrier_.emplace(*static_cast<NodeBarrier::State*>(base), node_size_);
  bytes_ = {static_cast<std::byte*>(base) + sizeof(NodeBarrier::State), bytes};
  prefer_large_pages(bytes_.data(), bytes_.size());
}

// Each rank fills its share, in rank order: the operating system puts pages close to the core that
// writes them first, so the block spreads over the node's memory.
void MpiNodeShared::zero_fill() {
  if (is_leader())
    std::memset(bytes_.data() - sizeof(NodeBarrier::State), 0, sizeof(NodeBarrier::State));
  const auto rank = static_cast<std::size_t>(node_rank_);
  const auto size = static_cast<std::size_t>(node_size_);
  const std::size_t share = ceil_div(bytes_.size(), size);
  const std::size_t begin = std::min(bytes_.size(), rank * share);
  const std::size_t end = std::min(bytes_.size(), begin + share);
  if (begin < end) std::memset(bytes_.data() + begin, 0, end - begin);
  // Not publish(): the barrier's own state has only now been written.
  caller_.check(MPI_Win_sync(window_), "MPI_Win_sync");
  caller_.check(MPI_Barrier(node_), "MPI_Barrier");
  caller_.check(MPI_Win_sync(window_), "MPI_Win_sync");
}

MpiNodeShared::~MpiNodeShared() {
  // Freeing is collective: not while one rank alone unwinds from a failure.
  if (std::uncaught_exceptions() > exceptions_at_start_) return;
  caller_.check_quietly(MPI_Win_unlock_all(window_), "MPI_Win_unlock_all");
  caller_.check_quietly(MPI_Win_free(&window_), "MPI_Win_free");
}

void MpiNodeShared::publish() {
  const WaitClock::Scope waiting;
  // The pattern of the MPI standard for load and store access: a memory barrier on either side of
  // the synchronisation.
  caller_.check(MPI_Win_sync(window_), "MPI_Win_sync");
  barrier_->wait([this] { return idle(); });
  caller_.check(MPI_Win_sync(window_), "MPI_Win_sync");
}

// Another rank may still need this one to move an earlier message on. May this one sleep?
bool MpiNodeShared::idle() const {
  if (MpiMessage::advance_sends()) {
    sched_yield();
    return false;
  }
  // Of collective calls that have returned, something may be left to do.
  int found = 0;
  caller_.check(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, node_, &found, MPI_STATUS_IGNORE),
                "MPI_Iprobe");
  return true;
}

}  // namespace quern
