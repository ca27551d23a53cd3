// SPDX-License-Identifier: Apache-2.0
// Which device a rank takes, and how the devices' gradients travel. Pure decisions; the devices
// themselves are in runtime/devices.hpp.
#pragma once

#include <string>
#include <vector>

#include "spec/recipe.hpp"

namespace quern {

/// The device of a rank among those that it sees: by its number on the node, around and around.
/// Launchers that show each rank a device of its own show it as number 0.
int device_of_rank(int node_rank, int visible);

/// "ranks 0, 1 share the device GPU-...", naming the first that belongs to two ranks; empty where
/// none does. Ids are unique among all nodes; "" is no device.
std::string sharing_text(const std::vector<std::string>& device_ids);

/// InputError where any is shared.
void refuse_sharing(const std::vector<std::string>& device_ids);

enum class TransportKind {
  hosts,   ///< kernels run on the host, or there is one rank: nothing between devices
  staged,  ///< through host memory and MPI
  nccl,
};

struct TransportInfo {
  CommBackend wanted = CommBackend::automatic;
  int ranks = 1;
  bool on_devices = false;  ///< kernels run on devices
  bool has_nccl = false;    ///< the program was built with it
  std::vector<std::string> device_ids;
  bool may_share = false;  ///< QUERN_SHARE_GPU
};

/// NCCL where there is some, each rank has a device of its own and the recipe does not say "mpi".
/// InputError for what cannot be: NCCL asked for without, or several ranks on one device that
/// nobody allowed.
TransportKind choose_transport(const TransportInfo& info);

}  // namespace quern
