// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace quern {

/// How long this thread has been in calls that end only when other ranks have come: barriers and
/// exchanges of communicators. Of messages, the transfer counts, too.
class WaitClock {
 public:
  using Duration = std::chrono::steady_clock::duration;

  static Duration waited();

  /// Counts while it lives. Not one inside another.
  class Scope {
   public:
    Scope() = default;
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  };
};

}  // namespace quern
