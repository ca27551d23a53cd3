// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensor/types.hpp"

namespace quern {

/// Measures how fast the processors of an execution space read: every thread sums its own part of
/// one array, again and again. Where the array lies (caches or memory) is a matter of its size.
class ReadBandwidth {
 public:
  /// Allocates about `bytes`; each thread touches its own part first, so that on a node with
  /// several memories the parts lie near their threads.
  ReadBandwidth(const ExecSpace& exec, std::int64_t bytes);

  /// Bytes per second of all threads together, the best of several tries. At least 128 MB per
  /// thread and try are read: some 10 ms. Waits for `exec`.
  double measure(const ExecSpace& exec) const;

 private:
  std::int64_t floats_per_thread_ = 0;
  FloatView values_;
  FloatView sinks_;  // what keeps the compiler from leaving out the reading, one line per thread
};

}  // namespace quern
