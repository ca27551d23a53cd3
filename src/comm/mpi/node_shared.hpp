// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <optional>

#include "comm/mpi/error.hpp"
#include "comm/node_barrier.hpp"
#include "comm/node_shared.hpp"

namespace quern {

/// A shared window of the node's ranks; all bytes belong to the node's rank 0. In front of them
/// lies the state of publish()'s barrier.
class MpiNodeShared final : public NodeShared {
 public:
  /// Collective over `node`.
  MpiNodeShared(MPI_Comm node, const MpiCaller& caller, std::size_t bytes);
  ~MpiNodeShared() override;

  std::span<std::byte> bytes() const override { return bytes_; }
  bool is_leader() const override { return node_rank_ == 0; }
  void publish() override;

 private:
  void allocate(std::size_t bytes);
  void zero_fill();
  bool idle() const;

  MPI_Comm node_;
  MpiCaller caller_;
  int node_rank_ = 0;
  int node_size_ = 1;
  MPI_Win window_ = MPI_WIN_NULL;
  std::span<std::byte> bytes_;
  std::optional<NodeBarrier> barrier_;
  int exceptions_at_start_;
};

}  // namespace quern
