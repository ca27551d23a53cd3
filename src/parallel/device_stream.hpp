// SPDX-License-Identifier: Apache-2.0
// Handing a queue of the device to a transport, and waiting for both.
#pragma once

#include "comm/device_transport.hpp"
#include "device/queue.hpp"

namespace quern {

/// The stream behind an instance, for a transport. Where kernels run on the host a transport reads
/// their memory at once: then everything on `exec` is done on return.
DeviceStream stream_of(const ExecSpace& exec);

/// Waits until everything on `exec` is done, with an eye on the exchanges: Error when one has
/// failed, OtherRankError when the transports' deadline has passed.
void wait_for(const ExecSpace& exec, const GridTransports& transports);

/// Collective over the world of a grid: that, or AgreedError on all ranks. Ranks of other groups
/// have to hear of a failed exchange, too.
void wait_on_all(Communicator& world, const ExecSpace& exec, const GridTransports& transports);

}  // namespace quern
