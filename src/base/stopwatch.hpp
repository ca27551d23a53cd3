// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace quern {

/// Wall time since construction or the last restart, in seconds.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  void restart() { start_ = std::chrono::steady_clock::now(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace quern
