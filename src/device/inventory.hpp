// SPDX-License-Identifier: Apache-2.0
// Which devices there are and what is free on them, as the vendor's driver says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace quern {

/// What runs this rank's kernels. Kokkos must be running.
struct DeviceInfo {
  std::string name;
  std::string id;  ///< unique among the devices of all nodes; empty for host back ends
};

DeviceInfo device_of_this_rank();

/// What the driver offers this process. Works before Kokkos starts.
struct DeviceCount {
  int devices = 0;      ///< 0 where kernels run on the host
  std::string problem;  ///< what is wrong where kernels need a device and there is none, else ""
};

DeviceCount count_devices();

/// Bytes that are free on this rank's device now. Nothing where kernel memory is host memory
/// (runtime/memory.hpp knows that) or the driver does not say.
std::optional<std::int64_t> available_device_memory();

}  // namespace quern
