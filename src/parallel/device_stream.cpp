// SPDX-License-Identifier: Apache-2.0
#include "parallel/device_stream.hpp"

#include <chrono>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "base/stopwatch.hpp"

namespace quern {

DeviceStream stream_of(const ExecSpace& exec) {
  return {stream_handle(exec)};
}

void wait_for(const ExecSpace& exec, DeviceTransport& transport) {
  const Stopwatch waiting;
  for (;;) {
    const bool idle = is_idle(exec);
    transport.check();
    if (idle) return;
    if (waiting.seconds() > transport.deadline_s()) {
      throw OtherRankError("waited longer than " +
                           std::to_string(static_cast<int>(transport.deadline_s())) + " s for " +
                           transport.name() +
                           ": another rank is gone or stuck (QUERN_NCCL_TIMEOUT sets the seconds)");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

}  // namespace quern
