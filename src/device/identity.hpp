// SPDX-License-Identifier: Apache-2.0
// Which devices there are, as the vendor's driver says.
#pragma once

#include <string>

namespace quern {

/// What runs this rank's kernels. Kokkos must be running.
struct DeviceFacts {
  std::string name;
  std::string id;  ///< unique among the devices of all nodes; empty for host back ends
};

DeviceFacts device_of_this_rank();

/// What the driver offers this process. Works before Kokkos starts.
struct DeviceCount {
  int devices = 0;      ///< 0 where kernels run on the host
  std::string problem;  ///< what is wrong where kernels need a device and there is none, else ""
};

DeviceCount count_devices();

}  // namespace quern
