// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "comm/mpi/error.hpp"
#include "comm/node_shared.hpp"

namespace quern {

/// A shared window of the node's ranks; all bytes belong to the node's rank 0.
class MpiNodeShared final : public NodeShared {
 public:
  /// Collective over `node`.
  MpiNodeShared(MPI_Comm node, const MpiCaller& caller, std::size_t bytes);
  ~MpiNodeShared() override;

  std::span<std::byte> bytes() const override { return bytes_; }
  bool is_leader() const override { return is_leader_; }
  void publish() override;

 private:
  MPI_Comm node_;
  MpiCaller caller_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::span<std::byte> bytes_;
  bool is_leader_ = false;
  int exceptions_at_start_;
};

}  // namespace quern
