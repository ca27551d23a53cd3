// SPDX-License-Identifier: Apache-2.0
#include "runtime/device_choice.hpp"

#include <map>

#include "base/assert.hpp"
#include "base/error.hpp"

namespace quern {

namespace {

std::map<std::string, std::vector<int>> users_of(const std::vector<std::string>& device_ids) {
  std::map<std::string, std::vector<int>> users;
  for (std::size_t rank = 0; rank < device_ids.size(); ++rank) {
    if (!device_ids[rank].empty()) users[device_ids[rank]].push_back(static_cast<int>(rank));
  }
  return users;
}

[[noreturn]] void refuse_nccl(const std::string& reason) {
  throw InputError("parallel.backend = \"nccl\", but " + reason);
}

}  // namespace

int device_of_rank(int node_rank, int visible) {
  expect(node_rank >= 0 && visible >= 1, "a rank of a node that sees at least one device");
  return node_rank % visible;
}

std::string sharing_text(const std::vector<std::string>& device_ids) {
  for (const auto& [device, ranks] : users_of(device_ids)) {
    if (ranks.size() < 2) continue;
    std::string text;
    for (const int rank : ranks) text += (text.empty() ? "ranks " : ", ") + std::to_string(rank);
    return text + " share the device " + device;
  }
  return "";
}

void refuse_sharing(const std::vector<std::string>& device_ids) {
  const std::string sharing = sharing_text(device_ids);
  if (sharing.empty()) return;
  throw InputError(sharing +
                   ": expected a device for each rank (--gpus-per-node=<ranks per node> and "
                   "--gpu-bind=none with srun); QUERN_SHARE_GPU=1 in the environment allows it");
}

TransportKind choose_transport(const TransportInfo& info) {
  const bool wants_nccl = info.wanted == CommBackend::nccl;
  if (wants_nccl && !info.on_devices) {
    refuse_nccl(
        "this quern runs its kernels on processors (expected \"auto\" or \"mpi\", or a "
        "quern built for GPUs)");
  }
  if (wants_nccl && !info.has_nccl) {
    refuse_nccl("this quern was built without NCCL (QUERN_ENABLE_NCCL=OFF)");
  }
  if (!info.on_devices || info.ranks == 1) return TransportKind::hosts;
  const std::string sharing = sharing_text(info.device_ids);
  if (!sharing.empty() && wants_nccl) {
    refuse_nccl(sharing + ", which NCCL refuses (expected a device for each rank, or \"mpi\")");
  }
  if (!info.may_share) refuse_sharing(info.device_ids);
  const bool takes_nccl = info.has_nccl && info.wanted != CommBackend::mpi && sharing.empty();
  return takes_nccl ? TransportKind::nccl : TransportKind::staged;
}

}  // namespace quern
