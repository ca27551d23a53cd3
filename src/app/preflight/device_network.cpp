// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/device_network.hpp"

#include <Kokkos_Core.hpp>

#include "app/preflight/network.hpp"
#include "base/stopwatch.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "comm/nccl_support.hpp"
#include "parallel/device_stream.hpp"
#include "runtime/device_choice.hpp"
#include "runtime/devices.hpp"

namespace quern {

NetworkFacts measure_device_network(Communicator& comm, DeviceTransport& transport) {
  using HostFloats = Kokkos::View<float*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
  const ExecSpace exec = make_instance();
  return measure_all_reduce(comm, [&](std::span<float> values) {
    const HostFloats host(values.data(), values.size());
    const FloatView device("quern::app::preflight", values.size());
    Kokkos::deep_copy(device, host);
    comm.barrier();
    double seconds = 0;
    agree_on_exchange(comm, transport, [&] {
      const Stopwatch watch;
      transport.all_reduce_sum({device.data(), device.extent(0)}, stream_of(exec));
      wait_for(exec, transport);
      seconds = watch.seconds();
    });
    Kokkos::deep_copy(host, device);
    return seconds;
  });
}

std::optional<DeviceNetworkFacts> try_nccl(Communicator& comm) {
  const auto ids = all_gather_strings(comm, device_of_this_rank().id);
  if (kHostExecution || !built_with_nccl() || comm.size() == 1 || is_any_shared(ids)) return {};
  DeviceNetworkFacts facts;
  try {
    const auto transport = connect_by_nccl(comm);
    facts.transport = transport->name();
    facts.network = measure_device_network(comm, *transport);
  } catch (const AgreedError& error) {
    facts.transport = nccl_version();
    facts.problem = error.what();
  }
  return facts;
}

}  // namespace quern
