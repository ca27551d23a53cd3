// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "comm/device_transport.hpp"

namespace quern {

/// The name and version of the NCCL (or RCCL) library that is loaded: "NCCL 2.28.9".
std::string nccl_library_version();

/// Collective over `comm`, which must outlive the transport: rank 0's unique id goes to everybody
/// by broadcast, and all ranks join one NCCL communicator on the devices that are current. NCCL
/// never blocks: whatever it does takes at most `deadline`, counted from when all ranks have come
/// to the first exchange of its kind. AgreedError on all ranks when one of them cannot join, after
/// all have given up: exit 2 for a library of the wrong version, else 1.
std::unique_ptr<DeviceTransport> start_nccl(Communicator& comm, std::chrono::milliseconds deadline);

}  // namespace quern
