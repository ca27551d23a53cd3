// SPDX-License-Identifier: Apache-2.0
// What a Kokkos tool (a profiler) is told while this process runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/types.hpp"

namespace quern::test {

struct Event {
  enum class Kind { kernel, allocation, fence, copy };
  Kind kind;
  std::string label;         ///< of a kernel, View or fence; of a copy: of its target
  std::string source;        ///< copy: label of the source
  std::uint32_t device = 0;  ///< kernel, fence: the execution space instance
};

/// Events since construction. One at a time.
class EventLog {
 public:
  EventLog();
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  /// What has happened so far, in order; forgets it.
  std::vector<Event> take();
};

/// "kernel 'quern::loss::regression_flat'", for messages.
std::string to_string(const Event& event);

/// The number that events of this instance carry.
std::uint32_t device_of(const ExecSpace& exec);

}  // namespace quern::test
