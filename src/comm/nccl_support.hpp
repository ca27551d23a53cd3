// SPDX-License-Identifier: Apache-2.0
// NCCL for whoever does not know whether this program was built with it.
#pragma once

#include <memory>
#include <string>

#include "comm/device_transport.hpp"
#include "comm/environment.hpp"

namespace quern {

/// Was this program built with NCCL (or RCCL)?
bool built_with_nccl();

/// "NCCL 2.28.9", the library that is loaded; "" without NCCL.
std::string nccl_version();

/// Seconds after which a rank gives up waiting for the others: QUERN_NCCL_TIMEOUT, 300 when unset.
/// InputError unless that is a whole number of at least 1.
int nccl_timeout_s(const EnvironmentLookup& lookup = {});

/// Collective: the ranks' current devices, connected by NCCL. AgreedError on all ranks when one
/// cannot join; InputError in a build without NCCL. `comm` must outlive the transport.
std::unique_ptr<DeviceTransport> connect_by_nccl(Communicator& comm);

}  // namespace quern
