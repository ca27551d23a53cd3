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

void wait_for(const ExecSpace& exec, const GridTransports& transports) {
  if (transports.are_none()) return exec.fence("quern::parallel::wait");
  const Stopwatch waiting;
  for (;;) {
    const bool idle = is_idle(exec);
    transports.check();
    if (idle) return;
    if (waiting.seconds() > transports.deadline_s()) {
      throw OtherRankError("waited longer than " +
                           std::to_string(static_cast<int>(transports.deadline_s())) + " s for " +
                           transports.first()->name() +
                           ": another rank is gone or stuck (QUERN_NCCL_TIMEOUT sets the seconds)");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

void wait_on_all(Communicator& world, const ExecSpace& exec, const GridTransports& transports) {
  agree_on_exchange(world, transports, [&] { wait_for(exec, transports); });
}

}  // namespace quern
