// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace quern {

/// One block of memory for all ranks of a node: the leader writes, everybody calls publish(), then
/// everybody reads. Must be destroyed by all ranks of the node, before the communicator's session.
class NodeShared {
 public:
  NodeShared() = default;
  virtual ~NodeShared() = default;
  NodeShared(const NodeShared&) = delete;
  NodeShared& operator=(const NodeShared&) = delete;

  virtual std::span<std::byte> bytes() const = 0;
  /// Is this the one rank of the node that fills the memory?
  virtual bool is_leader() const = 0;
  /// Collective over the node: what anyone wrote before, everyone sees afterwards.
  virtual void publish() = 0;
};

}  // namespace quern
