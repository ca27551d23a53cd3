// SPDX-License-Identifier: Apache-2.0
#include "comm/device_wait.hpp"

#include <chrono>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "base/stopwatch.hpp"

namespace quern {

void wait_until(const std::function<bool()>& is_idle, const GridTransports& transports,
                const DeviceProgress& progress) {
  Stopwatch standing;
  std::int64_t done = progress ? progress() : 0;
  for (;;) {
    const bool idle = is_idle();
    transports.check();
    if (idle) return;
    const std::int64_t done_now = progress ? progress() : 0;
    if (done_now != done) standing.restart();
    done = done_now;
    if (standing.seconds() > transports.deadline_s()) {
      throw OtherRankError("waited longer than " +
                           std::to_string(static_cast<int>(transports.deadline_s())) + " s for " +
                           transports.first()->name() +
                           ": another rank is gone or stuck (QUERN_NCCL_TIMEOUT sets the seconds)");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

void await_ranks(Communicator& world, const GridTransports& transports) {
  if (!transports.are_none()) world.barrier();
}

void wait_on_all(Communicator& world, const std::function<bool()>& is_idle,
                 const GridTransports& transports, const DeviceProgress& progress) {
  await_ranks(world, transports);
  agree_on_exchange(world, transports, [&] { wait_until(is_idle, transports, progress); });
}

}  // namespace quern
