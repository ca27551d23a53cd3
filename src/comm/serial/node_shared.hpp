// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <memory>

#include "comm/node_shared.hpp"

namespace quern {

/// Memory of the only rank. Large blocks lie in huge pages where the operating system has them: a
/// batch is picked from all over the data set, and with small pages every sample waits for the
/// translation of its address.
class SerialNodeShared final : public NodeShared {
 public:
  /// std::bad_alloc when there is not so much memory.
  explicit SerialNodeShared(std::size_t bytes);

  std::span<std::byte> bytes() const override { return {memory_.get(), size_}; }
  bool is_leader() const override { return true; }
  void publish() override {}

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  std::unique_ptr<std::byte, Free> memory_;
  std::size_t size_;
};

}  // namespace quern
