// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace quern {

/// One block of memory for all ranks of a node, aligned to a cache line. Whoever has written calls
/// publish() with everybody else of the node, then everybody reads. Must be destroyed by all ranks
/// of the node, before the communicator's session.
class NodeShared {
 public:
  NodeShared() = default;
  virtual ~NodeShared() = default;
  NodeShared(const NodeShared&) = delete;
  NodeShared& operator=(const NodeShared&) = delete;

  virtual std::span<std::byte> bytes() const = 0;
  /// Is this the one rank of the node that does what is done once?
  virtual bool is_leader() const = 0;
  /// Collective over the node: what anyone wrote before, everyone sees afterwards. Quick enough for
  /// a training step: flags in shared memory. Who waits long sleeps meanwhile. A rank that never
  /// comes leaves the others waiting, as in every collective call, until abort() or the launcher
  /// ends them.
  virtual void publish() = 0;
};

/// Bytes that this node still has for memory shared between processes (/dev/shm, which containers
/// keep small: often 64 MiB; or the folder that Open MPI is told to take); the largest number where
/// nothing tells.
std::int64_t free_shared_memory_bytes();

}  // namespace quern
