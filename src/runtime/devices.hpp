// SPDX-License-Identifier: Apache-2.0
// The devices that kernels run on, as the ranks see them.
#pragma once

#include <memory>
#include <string>

#include "comm/device_transport.hpp"
#include "comm/process_grid.hpp"
#include "device/inventory.hpp"
#include "spec/recipe.hpp"

namespace quern {

/// Devices this process may use; 0 where kernels run on the host. Works before Kokkos starts.
/// InputError where kernels need a device and the driver offers none, with what it says.
int visible_devices();

/// For `quern info`: "2", "none: no CUDA-capable device is detected"; "" where kernels run on the
/// host.
std::string visible_devices_text();

/// Does the environment allow several ranks on one device (QUERN_SHARE_GPU=1)?
bool may_share_devices();

/// Collective: what the gradients of a recipe with this backend travel by; null where they stay in
/// host memory (see choose_transport). AgreedError on all ranks for what cannot be. `comm` must
/// outlive it.
std::unique_ptr<DeviceTransport> connect_devices(Communicator& comm, CommBackend backend);

/// GridTransports with their owner.
struct GridConnections {
  std::unique_ptr<DeviceTransport> data;
  std::unique_ptr<DeviceTransport> tensor;

  GridTransports get() const { return {data.get(), tensor.get()}; }
};

/// Collective over the grid's world: connect_devices() along each of these axes.
GridConnections connect_devices(const ProcessGrid& grid, CommBackend backend);

}  // namespace quern
