// SPDX-License-Identifier: Apache-2.0
// The network between hosts, and between devices.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>

#include "app/preflight/info.hpp"
#include "comm/communicator.hpp"
#include "comm/device_transport.hpp"

namespace quern {

/// Collective: overwrites the values by their sums over the ranks; the seconds that took.
using TimedSum = std::function<double(std::span<float> values)>;

/// What a rank adds to element i of such a sum: whole numbers so small that floats hold the sums of
/// 300 000 ranks exactly. Libraries add in any order, and have to get it right.
float addend_of(int rank, std::size_t i);
/// The sum of that over all ranks.
float expected_sum(int ranks, std::size_t i);

/// Collective: sums that can be told in advance, and how long they take. The figures are rank 0's.
NetworkInfo measure_all_reduce(Communicator& comm, const TimedSum& sum);

/// The same of the communicator itself, in host memory.
NetworkInfo measure_network(Communicator& comm);

/// Collective: this rank's clock minus rank 0's, in seconds, to a few milliseconds.
double measure_clock_offset(Communicator& comm);

/// Collective: as measure_network(), between the ranks' devices. AgreedError when an exchange
/// fails.
NetworkInfo measure_device_network(Communicator& comm, DeviceTransport& transport);

/// Collective: the same by NCCL, where this program has it and each of several ranks a device of
/// its own; nothing elsewhere. What keeps NCCL from joining is in `problem`, on all ranks.
std::optional<DeviceNetworkInfo> try_nccl(Communicator& comm);

}  // namespace quern
