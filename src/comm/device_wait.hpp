// SPDX-License-Identifier: Apache-2.0
// Waiting for exchanges between devices, with a deadline for what is stuck and none for what is
// slow.
#pragma once

#include <cstdint>
#include <functional>

#include "comm/device_transport.hpp"

namespace quern {

/// A number that changes while this rank's device gets on: the batches that it has done. Empty:
/// nobody knows.
using DeviceProgress = std::function<std::int64_t()>;

/// Until `is_idle` says so, with an eye on the exchanges: Error when one has failed, OtherRankError
/// when the device has not got on for the transports' deadline.
void wait_until(const std::function<bool()>& is_idle, const GridTransports& transports,
                const DeviceProgress& progress = {});

/// Collective over the world of a grid: until all ranks are here, however long they take, by
/// messages between hosts. A rank may write a checkpoint, wait for a disk or load its kernels; in
/// an exchange between devices the others would give it up at the deadline. Nothing without
/// transports.
void await_ranks(Communicator& world, const GridTransports& transports);

/// Collective over the world of a grid: await_ranks(), then wait_until(), or AgreedError on all
/// ranks. Ranks of other groups have to hear of a failed exchange, too.
void wait_on_all(Communicator& world, const std::function<bool()>& is_idle,
                 const GridTransports& transports, const DeviceProgress& progress = {});

}  // namespace quern
