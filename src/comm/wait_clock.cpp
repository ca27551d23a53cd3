// SPDX-License-Identifier: Apache-2.0
#include "comm/wait_clock.hpp"

namespace quern {

namespace {
thread_local WaitClock::Duration total_waited{};
}  // namespace

WaitClock::Duration WaitClock::waited() {
  return total_waited;
}

WaitClock::Scope::~Scope() {
  total_waited += std::chrono::steady_clock::now() - start_;
}

}  // namespace quern
