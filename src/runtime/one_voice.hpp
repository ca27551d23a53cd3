// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "comm/communicator.hpp"

namespace quern {

/// Where a network fails, it fails on all ranks at once, and none of them can ask the others. Those
/// of a node have a board in shared memory: one says what failed on all of them. Errors that differ
/// are all said.
class OneVoice {
 public:
  /// Collective; `comm` must outlive it. Without shared memory each rank speaks.
  explicit OneVoice(Communicator& comm);

  /// Before the end of all ranks. `reason`: `message` without what differs from rank to rank of
  /// those that failed alike. Returns when the others of the node have had time to say theirs.
  void say(const std::string& message, const std::string& reason);

 private:
  std::span<std::uint64_t> board() const;

  std::unique_ptr<NodeShared> shared_;
};

}  // namespace quern
