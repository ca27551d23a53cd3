// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/node_shared.hpp"

#include <cstring>
#include <exception>

namespace quern {

MpiNodeShared::MpiNodeShared(MPI_Comm node, const MpiCaller& caller, std::size_t bytes)
    : node_(node), caller_(caller), exceptions_at_start_(std::uncaught_exceptions()) {
  int node_rank = 0;
  caller_.check(MPI_Comm_rank(node, &node_rank), "MPI_Comm_rank");
  is_leader_ = node_rank == 0;
  void* base = nullptr;
  caller_.check(MPI_Win_allocate_shared(is_leader_ ? static_cast<MPI_Aint>(bytes) : 0, 1,
                                        MPI_INFO_NULL, node, &base, &window_),
                "MPI_Win_allocate_shared");
  caller_.check(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
  MPI_Aint size = 0;
  int unit = 0;
  caller_.check(MPI_Win_shared_query(window_, 0, &size, &unit, &base), "MPI_Win_shared_query");
  caller_.check(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
  bytes_ = {static_cast<std::byte*>(base), bytes};
  if (is_leader_ && bytes > 0) std::memset(base, 0, bytes);
  publish();
}

MpiNodeShared::~MpiNodeShared() {
  // Freeing is collective: not while one rank alone unwinds from a failure.
  if (std::uncaught_exceptions() > exceptions_at_start_) return;
  caller_.check_quietly(MPI_Win_unlock_all(window_), "MPI_Win_unlock_all");
  caller_.check_quietly(MPI_Win_free(&window_), "MPI_Win_free");
}

void MpiNodeShared::publish() {
  // The pattern of the MPI standard for load and store access: a memory barrier on either side of
  // the synchronisation.
  caller_.check(MPI_Win_sync(window_), "MPI_Win_sync");
  caller_.check(MPI_Barrier(node_), "MPI_Barrier");
  caller_.check(MPI_Win_sync(window_), "MPI_Win_sync");
}

}  // namespace quern
