// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "app/preflight/facts.hpp"
#include "comm/communicator.hpp"
#include "comm/device_transport.hpp"

namespace quern {

/// Collective: as measure_network(), between the ranks' devices. AgreedError when an exchange
/// fails.
NetworkFacts measure_device_network(Communicator& comm, DeviceTransport& transport);

/// Collective: the same by NCCL, where this program has it and each of several ranks a device of
/// its own; nothing elsewhere. What keeps NCCL from joining is in `problem`, on all ranks.
std::optional<DeviceNetworkFacts> try_nccl(Communicator& comm);

}  // namespace quern
