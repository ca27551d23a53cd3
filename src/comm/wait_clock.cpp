// SPDX-License-Identifier: Apache-2.0
#include "comm/wait_clock.hpp"

namespace quern {

namespace {
thread_local WaitClock::Duration total{};
}  // namespace

WaitClock::Duration WaitClock::waited() {
  return total;
}

WaitClock::Scope::~Scope() {
  total += std::chrono::steady_clock::now() - start_;
}

}  // namespace quern
