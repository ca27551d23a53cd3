// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.hpp"
#include "runtime/host_staged_transport.hpp"

namespace quern::test {

/// Whose exchanges fail some time after the beginning.
class FailingTransport final : public HostStagedTransport {
 public:
  FailingTransport(Communicator& comm, int looks) : HostStagedTransport(comm), looks_left_(looks) {}
  void check() override {
    if (looks_left_-- == 0) throw Error("the network is down");
  }
  int looks_left() const { return looks_left_; }

 private:
  int looks_left_;
};

}  // namespace quern::test
