// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices.hpp"

#include <cstdlib>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "comm/nccl_support.hpp"
#include "runtime/device_choice.hpp"
#include "runtime/host_staged_transport.hpp"
#include "tensor/types.hpp"

namespace quern {

int visible_devices() {
  const auto [count, problem] = count_devices();
  if (problem.empty()) return count;
  throw InputError("this quern runs its kernels on GPUs (" + std::string(ExecSpace::name()) +
                   "), and finds none: " + problem +
                   " (expected a node with a GPU and its driver, or a quern built for processors)");
}

std::string visible_devices_text() {
  if (kHostExecution) return "";
  const auto [count, problem] = count_devices();
  return problem.empty() ? std::to_string(count) : "none: " + problem;
}

bool may_share_devices() {
  const char* wish = std::getenv("QUERN_SHARE_GPU");
  return wish && std::string(wish) == "1";
}

namespace {

std::vector<std::string> device_ids(Communicator& comm) {
  return all_gather_strings(comm, device_of_this_rank().id);
}

std::unique_ptr<DeviceTransport> connect(Communicator& comm, CommBackend backend,
                                         const std::vector<std::string>& ids, bool may_share) {
  TransportInfo info;
  info.wanted = backend;
  info.ranks = comm.size();
  info.on_devices = !kHostExecution;
  info.has_nccl = built_with_nccl();
  info.device_ids = ids;
  info.may_share = may_share;
  switch (agree(comm, [&] { return choose_transport(info); })) {
    case TransportKind::nccl:
      return connect_by_nccl(comm);
    case TransportKind::staged:
      return std::make_unique<HostStagedTransport>(comm);
    case TransportKind::hosts:
      break;
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<DeviceTransport> connect_devices(Communicator& comm, CommBackend backend) {
  return connect(comm, backend, device_ids(comm), broadcast_value(comm, may_share_devices()));
}

// One axis after the other: ranks join NCCL's communicators in one order. The ranks of an axis may
// have a device each that they share with those of another one, or a stage may have one rank.
GridConnections connect_devices(const ProcessGrid& grid, CommBackend backend) {
  const std::vector<std::string> ids = device_ids(grid.world());
  const bool may_share = broadcast_value(grid.world(), may_share_devices());
  if constexpr (!kHostExecution) {
    agree(grid.world(), [&] {
      if (!may_share) refuse_sharing(ids);
    });
  }
  const auto connect_axis = [&](Communicator& axis) {
    return agree(grid.world(), [&] { return connect(axis, backend, ids, may_share); });
  };
  GridConnections connections;
  connections.data = connect_axis(grid.data());
  connections.tensor = connect_axis(grid.tensor());
  return connections;
}

}  // namespace quern
