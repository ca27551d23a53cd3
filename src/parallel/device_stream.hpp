// SPDX-License-Identifier: Apache-2.0
// Handing a queue of the device to a transport, and waiting for both.
#pragma once

#include <cstdint>

#include "comm/device_wait.hpp"
#include "device/queue.hpp"

namespace quern {

/// The stream behind an instance, for a transport. Where kernels run on the host a transport reads
/// their memory at once: then everything on `exec` is done on return.
DeviceStream stream_of(const ExecSpace& exec);

/// wait_until() everything on `exec` is done. For ranks that are together already: the deadline
/// goes on while another one is busy elsewhere.
void wait_for(const ExecSpace& exec, const GridTransports& transports,
              const DeviceProgress& progress = {});

/// Collective over the world of a grid: waits until all ranks are here, and then until everything
/// on `exec` is done; AgreedError on all ranks when an exchange has failed or is stuck.
void wait_on_all(Communicator& world, const ExecSpace& exec, const GridTransports& transports,
                 const DeviceProgress& progress = {});

/// How many batches of so many kernels may wait on a queue before the host waits for them: a device
/// takes some 1000 launches, and then blocks the host, which no longer sees a failed exchange.
int batches_unseen(std::int64_t kernels);

}  // namespace quern
