// SPDX-License-Identifier: Apache-2.0
#include "parallel/device_stream.hpp"

#include <algorithm>

namespace quern {

namespace {

// Without exchanges nothing has to be looked at meanwhile.
bool is_idle(const ExecSpace& exec, const GridTransports& transports) {
  if (!transports.are_none()) return quern::is_idle(exec);
  exec.fence("quern::parallel::wait");
  check_launches();
  return true;
}

}  // namespace

DeviceStream stream_of(const ExecSpace& exec) {
  return {stream_handle(exec)};
}

void wait_for(const ExecSpace& exec, const GridTransports& transports,
              const DeviceProgress& progress) {
  wait_until([&] { return is_idle(exec, transports); }, transports, progress);
}

void wait_on_all(Communicator& world, const ExecSpace& exec, const GridTransports& transports,
                 const DeviceProgress& progress) {
  wait_on_all(
      world, [&] { return is_idle(exec, transports); }, transports, progress);
}

int batches_unseen(std::int64_t kernels) {
  constexpr std::int64_t kMostKernels = 512;
  return static_cast<int>(
      std::max<std::int64_t>(kMostKernels / std::max<std::int64_t>(kernels, 1), 1));
}

}  // namespace quern
